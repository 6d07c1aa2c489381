#!/bin/sh
# What the command line does with a real controller beside it.
# shellcheck shell=sh disable=SC1007,SC2015
. "$(dirname "$0")/lib.sh"

begin cli
job "$folder/short.yaml" 3000
id=$(submit "$folder/short.yaml")

WAFER_SOCKET=$dir/agent.sock run 78 ls && err_has "this socket is for the hosts of systems"
ok "a client at the socket of the hosts is told which one is its own"

wafer events -f "$id" >"$folder/followed" &
follower=$!
run 0 wait "$id"
wait "$follower" && tail -n 1 "$folder/followed" | grep -q JOB_ENDED
ok "events -f of a job ends with it, and as it did"

run 0 events -f "$id" && out_has JOB_ENDED
ok "events -f of a job that has ended ends at once"

run 2 cancel "$id" && err_has "already ended: SUCCEEDED"
ok "there is nothing to cancel in a job that has ended"

finish
