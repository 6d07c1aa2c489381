#!/bin/sh
# What a client may count on when it does not wait for its answers, or when the controller goes away
# under it.
# shellcheck disable=SC1091,SC2154,SC2034,SC2015,SC2181 # lib.sh has what is missing here, and uses the rest
. "${top_srcdir:=$(dirname "$0")/../..}/tests/e2e/lib.sh"

speed=600 # slow enough to see the first checkpoints come and go
begin clients
job "$folder/ended.yaml" 9000 1 600 '{last: 3}'
job "$folder/long.yaml" 9000
run 0 submit "$folder/ended.yaml"
has_an_early_one() {
    step=$(wafer -o json ckpt ls 1 | jq 'first(.items[] | select(.state == "VERIFIED") | .step)')
    [ "$step" -le 6000 ]
}
is_settled() { # the newest is verified, and what it replaces is gone
    run 0 ckpt ls -o plain 1 && same "$(cut -f 4,5 "$folder/out" | tr '\t\n' '  ')" \
        "$step VERIFIED 7800 VERIFIED 8400 VERIFIED 9000 VERIFIED " >/dev/null
}
catch has_an_early_one && run 0 ckpt pin "1@$step" && go_on && run 0 wait --timeout 20s 1 && within 10 is_settled && run 0 ckpt unpin "1@$step"
ok 'a job succeeds, and one of its checkpoints is there only because it was pinned'
live=$(submit --hold "$folder/long.yaml")
"$top_builddir/tests/e2e/pipelined" "$live" 1 "$step" >"$folder/out" 2>"$folder/err"
ok 'it is pinned again, and the job pruned, in requests behind one that waits for the disk'
run 0 ckpt ls -o plain 1 && same "$(cut -f 4 "$folder/out" | tr '\n' ' ')" "$step 7800 8400 9000 "
ok 'the prune has seen the pin'

run 0 release "$live"
within 10 runs "$live"
timeout 60 "$top_builddir/wafer" logs -f "$live" >"$folder/followed" 2>"$folder/err" &
follower=$!
# The same from another machine: what ssh would run there, is run.
mkdir "$folder/bin" && ln -s "$(realpath "$top_builddir/wafer")" "$folder/bin/wafer"
# shellcheck disable=SC2016 # for the script
printf '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift 2\nexec "$@"\n' >"$folder/bin/ssh"
chmod +x "$folder/bin/ssh"
PATH=$folder/bin:$PATH timeout 60 "$top_builddir/wafer" --server ssh://head logs -f "$live" >"$folder/far" 2>"$folder/far.err" &
far=$!
for step in 1000 3000; do
    within 20 has_reached "$live" $step
    kill_daemon
    begin clients
done
wait "$follower"
ok 'logs -f lives through two kills of the controller, and ends with the job'
wait "$far" && cp "$folder/far.err" "$folder/err" && [ ! -s "$folder/err" ]
ok 'and so it does through ssh'
run 0 logs "$live"
cmp -s "$folder/out" "$folder/followed" && cmp -s "$folder/out" "$folder/far"
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
