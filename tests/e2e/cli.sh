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

run 0 top && out_has "systems" && out_has "of 4 busy" && out_has "0 shown"
ok "top prints once where there is no terminal"

run 0 ls --all -o cols=id,state,progress.step --sort -id --since 1000d && out_has "$id  SUCCEEDED"
ok "ls chooses, sorts and shows what it is asked for"

# ssh is a script that runs what it was asked to run.
mkdir "$folder/bin"
# shellcheck disable=SC2016 # another shell expands these
printf '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift 2\nexec "$@"\n' >"$folder/bin/ssh"
chmod +x "$folder/bin/ssh"
ln -s "$(cd "$top_builddir" && pwd)/wafer" "$folder/bin/wafer"
PATH=$folder/bin:$PATH run 0 show "$id" --server ssh://head && out_has "SUCCEEDED"
ok "a controller answers through ssh"

PATH=$folder/bin:$PATH run 0 events -f "$id" --server ssh://head && out_has JOB_ENDED
ok "and so do its streams"

finish
