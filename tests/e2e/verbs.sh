#!/bin/sh
# The verbs beside submit and show, on a controller with simulated systems.
# shellcheck disable=SC1091,SC2154,SC2034,SC2015,SC2181 # lib.sh has what is missing here, and uses the rest
. "${top_srcdir:=$(dirname "$0")/../..}/tests/e2e/lib.sh"

# alone_on_systems JOB: it runs, and no system is another's.
alone_on_systems() {
    runs "$1" && [ "$(wafer -o json system ls | jq -c '[.items[].job | select(. != null)]')" = "[$1]" ]
}

drained_and_up() {
    [ "$(wafer -o json system show s1 | jq -r '.item | "\(.state) \(.drained) \(.drain_reason)"')" = 'UP true NaN suspect' ]
}

begin verbs
ok 'the controller is ready'
job "$folder/long.yaml" 1000000
job "$folder/short.yaml" 3000

# ---- update ----

held=$(submit --hold "$folder/short.yaml")
version=$(field "$held" .version)
run 0 update "$held" --set priority=p1 --set labels.team=nlp --if-version "$version" &&
    same "$(field "$held" .priority) $(field "$held" .labels.team)" "199 nlp"
ok 'a waiting job gets another priority and a label'
run 75 update "$held" --set limit=1h --if-version "$version" && err_has "has version $((version + 1)), not $version"
ok 'who saw an older version is told the newer one'
run 65 update "$held" --set workload.steps=5 && err_has workload.steps
ok 'what a job computes does not change'
run 0 show --spec "$held" && out_has 'priority: p1'
ok 'the spec is the new one'
kill_daemon && begin verbs && same "$(field "$held" .priority)" 199
ok 'an update survives a kill of the controller'
run 0 release "$held" && run 0 wait "$held" && run 0 show --spec "$held" && out_has 'team: nlp'
ok 'history has the spec as it was at the end'

# ---- queues and drained systems (B04) ----

run 0 queue stop wafer --reason upgrade && run 0 system drain s1 --reason 'NaN suspect'
ok 'a queue is stopped, a system is drained'
waits=$(submit "$folder/short.yaml") && is "$waits" .reason.code QueueStopped
ok 'a job of a stopped queue waits, and says so'
run 0 system fault s1 crash --for 1s && within 10 drained_and_up
ok 'a system that fails and heals stays drained, with the reason'
kill_daemon && begin verbs && run 0 queue ls && out_has upgrade && drained_and_up &&
    is "$waits" .reason.code QueueStopped
ok 'both survive a kill of the controller'
run 0 queue start wafer && run 0 system undrain s1 && run 0 wait "$waits"
ok 'and end when somebody says so'
run 2 queue stop nowhere && run 2 system drain nowhere
ok 'what is not there is said'

# ---- report ----

seconds() { wafer -o json report "$1" | jq "$2"; }
broken=$(submit "$folder/long.yaml") && within 20 has_reached "$broken" 400
run 0 report "$broken" && out_has 'goes on'
ok 'report of a job that runs has its attempt so far'
run 0 system fault "$(field "$broken" '.systems.allocated[0]')" crash --for 10s &&
    within 20 is "$broken" .attempt 2 && begun=$(field "$broken" .progress.step) &&
    within 20 has_reached "$broken" $((begun + 300))
run 0 cancel "$broken" && run 3 wait "$broken"
[ "$(seconds "$broken" '.items[0] | [.attempts[].time.execute_s] | length == 2 and all(. > 0)')" = true ] &&
    [ "$(seconds "$broken" '.items[0].attempts[0].steps_lost')" = "$(field "$broken" .steps_lost)" ]
ok 'both attempts are accounted for, with the steps that were lost'
[ "$(seconds "$broken" '.items[0].time | .total_s - (.held_s + .queue_s + .backoff_s + .launch_s + .compile_s + .load_s + .execute_s + .checkpoint_s + .cleanup_s + .unknown_s) | . >= 0 and . < 12')" = true ]
ok 'the causes add up to all of the time'
kill_daemon && begin verbs && [ "$(seconds "$broken" '.items[0].attempts | length')" = 2 ]
ok 'history keeps them'

# ---- whoami ----

run 0 -o json whoami && same "$(jq -c '[.item.uid, (.item.roles | index("operator") != null)]' "$folder/out")" "[$(id -u),true]"
ok 'whoami is who runs the controller: an operator'

# ---- explain ----

run 0 system drain s1 --reason 'NaN suspect'
for system in s2 s3 s4; do submit --limit 1-0 "$folder/long.yaml" >>"$folder/running"; done
waits=$(submit --systems 1..2 "$folder/long.yaml")
within 10 is "$waits" .reason.code Resources
run 0 explain "$waits" && out_has 'Resources: needs 2 systems' && out_has '1 drained (s1: NaN suspect' &&
    out_has 'wafer system undrain s1' && out_has 'position    1 of 1'
ok 'explain says why a job waits, and what would help'
run 0 explain "$waits" --system s1 && out_has 'not there   it is drained: NaN suspect' &&
    out_has 'the job needs 2 systems of one host, and dev has 0 free' &&
    run 0 explain "$waits" --system s2 && out_has "job $(head -n 1 "$folder/running") has it until" &&
    run 0 explain "$waits" --system g1 && out_has 'the job is for pool wafer' &&
    run 0 explain "$(head -n 1 "$folder/running")" --system s2 && out_has 'it runs there' &&
    run 0 explain "$held" --system s2 && out_has 'the job has ended'
ok 'explain --system says all that keeps a job from one'
run 2 explain "$waits" --system nowhere && run 64 explain "$waits" --system s1 --fix && err_has 'one of them'
ok 'and what makes no sense is refused'
run 0 explain "$waits" --fix && sh -c "$(sed -n "s|^wafer|'$top_builddir/wafer'|p" "$folder/out" | head -n 1)" >/dev/null &&
    run 0 update "$waits" --set systems.count=1 && within 10 runs "$waits"
ok 'and doing so helps'
run 0 explain "$broken" && out_has 'cause       CANCELLED' && out_has 'SYSTEM_FAILED' && out_has "wafer resume $broken"
ok 'explain of an ended job has its attempts'
# shellcheck disable=SC2046 # ids are words
run 0 cancel -y --now "$waits" $(cat "$folder/running") && within 10 all_free
ok 'all are cancelled'

# ---- diff ----

run 0 diff "$held" "$held" && run 1 diff "$held" "$broken" && out_has 'spec.workload.steps  3000 → 1000000'
ok 'diff: 0 for the same, 1 and what it is for others'

# ---- doctor, and a restore from a copy (ids are never given twice) ----

run 0 doctor "$dir" && ! grep -q '^fail' "$folder/out" && out_has 'is whole'
ok 'doctor finds nothing wrong'
survivor=$(submit "$folder/long.yaml") && within 20 has_reached "$survivor" 400
run 0 doctor "$dir" --backup "$folder/copy" && run 1 doctor "$dir" --backup "$folder/copy"
ok 'a copy is made of a controller that runs, and never over another'
lost=$(submit "$folder/long.yaml") && within 20 runs "$lost" && last=$(submit --hold "$folder/short.yaml")
ok 'work goes on, which the copy does not know'
kill_daemon
run 0 doctor "$dir" && out_has 'no controller runs'
ok 'doctor works without a controller'
mkdir "$folder/gone" && mv "$dir/state.db" "$dir"/state.db-* "$dir/snapshots" "$folder/gone/" && cp "$folder/copy/state.db" "$dir/"
wafer -o json doctor "$dir" >"$folder/out" # with what retention has deleted since, this may fail
jq -e '[.items[] | select(.text | test("copy that nobody has run"))] | length == 1' "$folder/out" >/dev/null
ok 'doctor knows a copy for one'
begin verbs && fresh=$(submit --hold "$folder/short.yaml") && [ "$fresh" -gt "$last" ]
ok "after the restore new ids are above all that were given"
run 77 show "$lost" && run 77 show "$last"
ok 'what the copy does not know is not there'
within 30 alone_on_systems "$survivor"
ok 'what it knows runs on, and nothing else does'
has_event "$survivor" 'STATE_RESTORED\|put back from a copy'
ok 'and its events say what happened'
kill_daemon && begin verbs && again=$(submit --hold "$folder/short.yaml") && [ "$again" -eq $((fresh + 1)) ]
ok 'a restart after that is like any other'
# It may be on its way back to a checkpoint that is still there: older ones went after the copy.
run 0 cancel --dry-run "$survivor" && out_has 'would be cancelled: it is ' && ! has_event "$survivor" CANCELLED
ok 'a cancel that is only tried changes nothing'
run 0 cancel -y --now "$survivor" && within 10 all_free
manifest=$(find "$dir/vault/ckpt" -name manifest | head -n 1)
echo damage >"$manifest" && run 1 doctor "$dir" && grep -q '^fail vault' "$folder/out"
ok 'doctor finds a damaged manifest'
run 78 doctor --config "$folder/nowhere.yaml" && err_has nowhere.yaml
ok 'a site file that is not there is said'

finish
