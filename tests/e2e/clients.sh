#!/bin/sh
# What a client may count on when it does not wait for its answers, or when the controller goes away
# under it.
# shellcheck disable=SC1091,SC2154,SC2034,SC2015,SC2181 # lib.sh has what is missing here, and uses the rest
. "${top_srcdir:=$(dirname "$0")/../..}/tests/e2e/lib.sh"

begin clients
job "$folder/ended.yaml" 1500 1 300 '{last: 5}'
job "$folder/long.yaml" 9000
run 0 submit --wait "$folder/ended.yaml"
ok 'a job succeeds'
live=$(submit --hold "$folder/long.yaml")
"$top_builddir/tests/e2e/pipelined" "$live" 1 600 >"$folder/out" 2>"$folder/err"
ok 'a pin and a prune of its checkpoints are sent behind a request that waits for the disk'
run 0 ckpt ls -o plain 1 && same "$(cut -f 1 "$folder/out" | tr '\n' ' ')" '1@600.1 1@1500.1 '
ok 'the prune has seen the pin'

run 0 release "$live"
within 10 runs "$live"
timeout 60 "$top_builddir/wafer" logs -f "$live" >"$folder/followed" 2>"$folder/err" &
follower=$!
for step in 1000 3000; do
    within 20 has_reached "$live" $step
    kill_daemon
    begin clients
done
wait "$follower"
ok 'logs -f lives through two kills of the controller, and ends with the job'
run 0 logs "$live"
cmp -s "$folder/out" "$folder/followed"
ok 'and has printed each line once'
stop_all

# A copy of the directory, made while it is in use.
begin original
run 0 submit "$folder/long.yaml" && within 10 runs 1
ok 'a job runs'
sim=$(systems_pid)
cp -R "$dir" "$folder/copy" 2>/dev/null
rm -f "$folder/copy/"*.sock
original=$dir first_daemon=$daemon
begin copy
within 20 answers && [ "$(systems_pid)" != "$sim" ]
ok 'a controller on a copy has simulated systems of its own'
sleep 4 # longer than it waits for systems of an earlier run
kill -0 "$sim"
ok 'and leaves those of the original alone'
stop_all
dir=$original daemon=$first_daemon
stop_all

# A file size limit stands for a disk without room, of which nothing was kept in reserve.
begin full
first=$(submit --hold --key first "$folder/long.yaml")
prlimit --pid "$daemon" --fsize=1:
run 69 --timeout 2s submit --hold --key second "$folder/long.yaml"
ok 'with a disk so full that nothing can be written, a submit is not acknowledged'
run 75 ls && err_has 'disk is full' && run 75 show "$first" && run 75 cancel "$first"
ok 'and who asks then is told so at once'
prlimit --pid "$daemon" --fsize=unlimited:
within 20 wafer ls >/dev/null && is "$first" .state HELD
ok 'when there is room again, it answers, and what was turned away has not happened'
second=$(submit --hold --key second "$folder/long.yaml")
same "$(wafer -o json ls --all | jq -c '[.items[].id] | sort')" "[$first,$second]"
ok 'the submit is there once'
finish
