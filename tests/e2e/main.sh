#!/bin/sh
# What a person does first: a published job from submit to its end, and each way to look at it.
# shellcheck disable=SC1091,SC2154,SC2034,SC2015,SC2181 # lib.sh has what is missing here, and uses the rest
. "${top_srcdir:=$(dirname "$0")/../..}/tests/e2e/lib.sh"
published=$top_srcdir/examples/cerebras-gpt-111m.yaml

begin main
ok 'the controller is ready, with its six systems'

run 0 submit --follow "$published" && out_has 'submitted job 1'
ok 'a published job is followed to its end'
err_has 'SUCCEEDED: FINISHED, at step 9,037, digest '
ok 'its news end with outcome and digest'
err_has 'checkpoint at step 903 verified'
ok 'and have its checkpoints'

run 0 show 1 && out_has SUCCEEDED && out_has 'step 9,037 of 9,037 (100%)'
ok 'show has state and progress'
run 0 -o json show 1 &&
    jq -e '.item.result | .target == 2.566 and .target_met == (.metric <= .target)' "$folder/out" >/dev/null
ok 'and whether it is as good as it was to be'
run 0 events 1 && [ "$(grep -c JOB_SUBMITTED "$folder/out")" -eq 1 ] && out_has 'by ' &&
    grep -q 'JOB_ENDED *FINISHED' "$folder/out"
ok 'events go from who submitted it to its end'
run 0 logs 1 && out_has 'Ended at step 9037: FINISHED'
ok 'logs have what it printed'
end=$(tail -n 1 "$folder/out")
run 0 logs 1 --since "${end%% *}" && same "$(cat "$folder/out")" "$end" && run 0 logs 1 --since 365d &&
    [ "$(wc -l <"$folder/out")" -gt 100 ]
ok 'or a part of it, from some time on'
run 0 ckpt ls 1 && out_has VERIFIED
ok 'its checkpoints are listed'

wafer submit -q "$published" >"$folder/id" && timeout 20 "$top_builddir/wafer" logs -f 2 >"$folder/out" 2>"$folder/err"
[ $? -eq 0 ] && out_has 'Ended at step 9037: FINISHED'
ok 'logs -f ends by itself, with status 0 of a job that succeeded'
same "$(digest 1)" "$(digest 2)"
ok 'the same job once more has the same digest'

for command in 'show 1' 'ls --all' 'events 1' 'ckpt ls 1' 'ckpt show 1@9037' 'system ls' 'system show s1' version; do
    # shellcheck disable=SC2086 # a command and its words
    run 0 -o json $command && jq -e '.schema | test("^wafer\\..*/v1$")' "$folder/out" >/dev/null
    ok "$command is valid JSON with its schema"
done
run 65 -o json submit "$top_srcdir/examples/local.mk" && jq -e '.schema == "wafer.error/v1" and .exit == 65' "$folder/err" >/dev/null
ok 'and so is an error'

run 0 wait 1 2
ok 'wait: 0 when all have succeeded'
run 4 submit --wait --limit 10m "$published"
ok 'wait: 4 when the time limit ended it'
sed 's/gelu\]/gelu, fft]/' "$published" >"$folder/fft.yaml"
run 1 submit --wait "$folder/fft.yaml" && run 1 wait 4
ok 'wait: 1 when it failed, also later'
is 4 .state FAILED && run 0 show 4 && out_has "operator 'fft' is not supported on cs3"
ok 'and show says why'
job "$folder/long.yaml" 1000000
long=$(submit "$folder/long.yaml")
run 6 wait --timeout 1s "$long"
ok 'wait: 6 when the waiting itself had an end'
timeout 20 "$top_builddir/wafer" logs -f "$long" >"$folder/tail" 2>"$folder/err" &
follower=$!
run 0 cancel "$long" && run 3 wait "$long"
ok 'wait: 3 when it was cancelled'
wait "$follower"
same $? 3
ok 'logs -f of it ends too, with that status'
run 3 wait 1 "$long" 3
ok 'of several jobs the first that is not 0 decides'
held=$(submit --hold "$published")
is "$held" .state HELD && run 0 release "$held" && run 0 wait "$held"
ok 'a held job runs when it is released'
run 77 show 4711 || run 66 show 4711
ok 'a job that never was is no success'
within 5 all_free
ok 'at the end all systems are free'
finish
