#!/bin/sh
# What a controller did with real jobs, in the order of its journal, goes through a replay: each job
# starts at the same moment. There is one scheduler.
# shellcheck disable=SC1091,SC2154,SC2034,SC2015,SC2181 # lib.sh has what is missing here, and uses the rest
. "${top_srcdir:=$(dirname "$0")/../..}/tests/e2e/lib.sh"
speed=12000

begin schedule
ok 'the controller is ready'

# Gangs of 1 to 4 for a quarter of an hour to an hour and a half, some with much too long limits.
systems='1 3 2 4 1 1 2 1 4 1 3 1 1 2 1 2 1 1 4 1 2 3 1 1'
index=0
# The first has all systems until most of the others wait behind it; the rest come while those run.
opener=$(submit --systems 4 --set workload.steps=1000000 "$top_srcdir/examples/cerebras-gpt-111m.yaml")
for count in $systems; do
    index=$((index + 1))
    wafer submit -q --systems "$count" --limit "$((2 + index % 4 * 2))h" --name "job$index" \
        --set "workload.steps=$((60 + index * 37 % 240))" \
        "$top_srcdir/examples/cerebras-gpt-111m.yaml" >>"$folder/ids" 2>>"$folder/err" || break
    [ "$index" -ne 16 ] || run 0 cancel --now "$opener"
done
same "$(grep -c . "$folder/ids")" 24
ok 'jobs of all widths are submitted'
# shellcheck disable=SC2046 # ids are words
run 0 wait --timeout 100s $(cat "$folder/ids")
ok 'all of them end well'

wafer -o json ls --all --limit 100 >"$folder/jobs.json" &&
    wafer -o json events --limit 1000 >"$folder/events.json"
ok 'the journal tells what happened'
# shellcheck disable=SC2016 # jq's own variables
jq -r --slurpfile jobs "$folder/jobs.json" '
    def us: capture("^(?<s>[^.Z]+)([.](?<f>[0-9]+))?Z$") |
        (.s + "Z" | fromdate) * 1000000 + (((.f // "0") + "000000")[0:6] | tonumber);
    ([$jobs[0].items[] | {key: (.id | tostring), value: .}] | from_entries) as $job |
    ["systems", 4, 0, 0, 0],
    (.items | sort_by(.sequence) | .[] | select(.job) | $job[.job | tostring] as $it |
        if .kind == "JOB_SUBMITTED" then ["submitted", .job, (.at | us), $it.systems.requested, $it.limit_s * 1000000]
        elif .kind == "JOB_GRANTED" then ["granted", .job, (.at | us), 0, 0]
        elif .kind == "JOB_STARTED" then ["started", .job, (.at | us), 0, 0]
        elif .kind == "JOB_ENDED" then ["ended", .job, (.at | us), 0, 0]
        else empty end) | map(tostring) | join(" ")' "$folder/events.json" >"$folder/lines"
same "$(grep -c '^granted' "$folder/lines")" 25
ok 'each job was granted once'

"$top_builddir/tests/e2e/replayed" easy <"$folder/lines" >"$folder/out" 2>"$folder/err"
ok 'a replay starts each of them where the controller did'
# Without backfill others would have started: the comparison can fail.
! "$top_builddir/tests/e2e/replayed" none <"$folder/lines" >"$folder/out" 2>"$folder/err"
ok 'and other rules would have started others'

# ---- why does it wait although systems are free? ----

long() { # long NAME SYSTEMS LIMIT
    wafer submit -q --name "$1" --systems "$2" --limit "$3" --set workload.steps=1000000 \
        "$top_srcdir/examples/cerebras-gpt-111m.yaml"
}
wide=$(long wide 3 10-0) && head=$(long head 4 1h) && late=$(long late 1 20-0) && brief=$(long brief 1 2-0) &&
    within 10 runs "$wide" && within 10 runs "$brief" &&
    run 0 cancel --now "$brief" && within 10 is "$brief" .state CANCELLED &&
    same "$(field "$late" .reason.code): $(field "$late" .reason.detail)" \
        'Priority: it would delay the job ahead of it' &&
    same "$(field "$late" '.reason.blockers[0].id')" "$head" && field "$late" .reason.est_start | grep -q T
ok 'it is told that it would delay the job ahead of it, and when it starts'
run 0 cancel --now "$head" && within 10 runs "$late"
ok 'and without that job it starts'

finish
