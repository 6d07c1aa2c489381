#!/bin/sh
# Jobs that wait for others, for a time, or have to be over by one.
# shellcheck disable=SC1091,SC2154,SC2034,SC2015,SC2181 # lib.sh has what is missing here, and uses the rest
. "${top_srcdir:=$(dirname "$0")/../..}/tests/e2e/lib.sh"

# later SECONDS: the cluster's time by then.
later() { wafer -o json ls | jq -r "(.generated_at[:19] + \"Z\" | fromdate) + $1 | todate"; }

none_is_live() { [ "$(wafer -o json ls | jq .total)" = 0 ]; }

begin order
ok 'the controller is ready'
job "$folder/short.yaml" 2000
job "$folder/long.yaml" 1000000

# ---- others ----

first=$(submit "$folder/long.yaml")
second=$(submit --after "afterok:$first" "$folder/short.yaml")
third=$(submit --after "afterany:$first,afterok:$second" "$folder/short.yaml")
fallback=$(submit --after "afternotok:$first" "$folder/short.yaml")
is "$third" .reason.code Dependency && same "$(field "$third" '.after[1].job')" "$second" &&
    run 0 show "$third" && out_has "afterok $second (WAITING)" && out_has "blocked by"
ok 'a chain of jobs waits, and says for whom'
run 0 explain "$second" && out_has "job $first has not succeeded" && out_has "wafer explain $first"
ok 'explain names the other'
kill_daemon && begin order && is "$second" .reason.code Dependency
ok 'it still does after a kill of the controller'
run 0 cancel "$first" && run 3 wait "$third" && run 0 show "$third" && out_has DEPENDENCY_NEVER_SATISFIED &&
    same "$(field "$second" .state)" CANCELLED && run 0 wait "$fallback"
ok 'what can never be is cancelled, along the chain; who waited for the failure runs'
late=$(submit --after "afternotok:$first,afterok:$fallback" "$folder/short.yaml") && run 0 wait "$late"
ok 'jobs that have left memory count as they ended'
run 3 wait "$(submit --after "afterok:$first" "$folder/short.yaml")"
ok 'one that can never start is over at once'

array=$(submit --array 0-3 "$folder/short.yaml") && rest=$(submit --after "afterok:$array" "$folder/short.yaml") &&
    run 0 wait "${array}_1" &&
    last=$(submit --after "afterok:${array}_1,afterok:$array,afterok:$rest" "$folder/short.yaml") &&
    run 0 wait "$rest" && run 0 wait "$last" && again=$(submit --after "afterany:$array" "$folder/short.yaml") &&
    run 0 wait "$again"
ok 'after a whole array, while it runs and when it is history'
run 77 submit --after "afterany:$again,afterok:9999" "$folder/short.yaml" && err_has 'after[1]: no such job' &&
    run 77 submit --after "afterok:${array}_9" "$folder/short.yaml" && err_has 'after[0]' &&
    run 64 submit --after 7 "$folder/short.yaml" && run 65 submit --after soon:7 "$folder/short.yaml" &&
    err_has 'after[0]'
ok 'jobs that are not there and kinds that do not exist are refused'

# ---- time ----

due=$(later 3600) && waits=$(submit --begin "$due" "$folder/short.yaml") && is "$waits" .reason.code BeginTime &&
    run 0 wait "$waits"
same "$(printf '%s\n' "$due" "$(field "$waits" .started_at)" | sort | head -n 1)" "$due"
ok 'a job begins when it may'
waits=$(submit --begin "$(later 360000)" "$folder/short.yaml") && run 0 update "$waits" --set begin=null &&
    run 0 wait "$waits"
ok 'or at once, when it is told so'
stopped=$(submit --deadline "$(later 3600)" --set limit=null "$folder/long.yaml") && run 4 wait "$stopped" &&
    is "$stopped" .cause DEADLINE && [ "$(field "$stopped" .checkpoint.last_good_step)" -gt 0 ]
ok 'a deadline stops a job, with a checkpoint'
run 65 submit --deadline "$(later 3600)" --limit 2h "$folder/short.yaml" && err_has 'does not fit before it'
ok 'a limit that does not fit is refused'
run 0 queue stop wafer && missed=$(submit --deadline "$(later 3600)" --limit 30m "$folder/short.yaml") &&
    run 4 wait "$missed" && run 0 queue start wafer && run 0 show "$missed" && out_has 'no longer be over'
ok 'who can no longer make it is over'

# ---- what would become of a job ----

before=$(wafer -o json ls --all | jq .total)
run 0 plan "$folder/short.yaml" && out_has 'would start now' && out_has 'cost'
ok 'plan: it would start now'
wide=$(submit --systems 4 "$folder/long.yaml") && within 10 runs "$wide" &&
    run 2 plan --limit 1h "$folder/short.yaml" && out_has 'would wait: Resources' && out_has 'start ' &&
    run 2 submit --plan -o plain "$folder/short.yaml" && out_has Resources
ok 'or wait, until when and for whom'
wafer -o json plan --after "afterok:$wide" "$folder/short.yaml" >"$folder/plan.json"
[ $? -eq 2 ] && same "$(jq -r '.item.explanation.job.reason.code' "$folder/plan.json")" Dependency &&
    run 2 plan --queue gpu --systems 9 "$folder/short.yaml" && out_has NeverFits && out_has hint
ok 'and why'
run 65 plan --queue nowhere "$folder/short.yaml" && run 77 plan --after afterok:9999 "$folder/short.yaml"
ok 'what cannot be handed in is refused alike'
same "$(wafer -o json ls --all | jq .total)" "$((before + 1))" && run 0 cancel --now "$wide" &&
    same "$(submit --hold "$folder/short.yaml")" "$((wide + 1))" && run 0 cancel "$((wide + 1))"
ok 'a plan leaves nothing behind, not even a number'

within 20 none_is_live
ok 'nothing is left behind'
finish
