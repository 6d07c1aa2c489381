#!/bin/sh
# Quotas of users, projects and queues, by a policy file, a reload and a restart.
# shellcheck disable=SC1091,SC2154,SC2034,SC2015,SC2181 # lib.sh has what is missing here, and uses the rest
. "${top_srcdir:=$(dirname "$0")/../..}/tests/e2e/lib.sh"

mkdir "$folder/state" "$folder/vault" "$folder/policies"
cp "$top_srcdir/policies/roles.yaml" "$folder/policies"
me=$(id -u)
rules() { # rules SERIAL RULE...
    printf 'apiVersion: wafer/v1\nkind: Scheduling\nserial: %s\n' "$1" >"$folder/policies/scheduling.yaml"
    shift
    [ $# -eq 0 ] || echo 'quotas:' >>"$folder/policies/scheduling.yaml"
    for rule; do echo "  - {$rule}" >>"$folder/policies/scheduling.yaml"; done
}
{
    site_places
    echo "policies_dir: $folder/policies"
    echo 'lease: 2s'
    echo 'pools: [{name: wafer, platform: cs3}]'
} >"$folder/site.yaml"
WAFER_SOCKET=$folder/waferd.sock && export WAFER_SOCKET

start() {
    "$top_builddir/waferd" --config "$folder/site.yaml" >>"$folder/waferd.log" 2>&1 </dev/null &
    daemon=$!
    within 20 test -S "$folder/waferd.sock" && within 20 "$top_builddir/wafer" -q version >/dev/null
}
four_up() { [ "$(wafer -o json system ls | jq '[.items[] | select(.state == "UP")] | length')" = 4 ]; }
out_like() { grep -q -e "$1" "$folder/out"; }
is_reloaded() { grep -q 'serial 1 -> 2' "$folder/waferd.log"; }
reason_is() { same "$(field "$1" .reason.code)" "$2"; }

rules 1 'every: user, uid: 3' 'queue: gpu, systems: 1' 'user: nobody-of-this-name' 'project: a' 'project: a, array: 2' \
    'every: queue, max_limit: 1h, default_limit: 2h' 'project: b, budget: {soft: "1.00 USD", window: 90m}'
"$top_builddir/waferd" --config "$folder/site.yaml" --check-config >"$folder/out" 2>&1
[ $? -eq 78 ] && out_has 'it names several of every, user' && out_has "no queue 'gpu' here" &&
    out_has 'nobody-of-this-name' && out_has 'quotas[3] is for the same one' &&
    out_has 'default_limit is above max_limit' && out_has 'no pool is paid for in USD' &&
    out_has 'a window is of whole days'
ok 'rules that make no sense are refused, each by its place'

rules 1 "every: user, systems: 3, pending: 2" 'project: nlp, systems: 1, max_limit: 10h, default_limit: 3h' \
    'queue: wafer, array: 4'
start
"$top_builddir/wafersim" --socket "$folder/agent.sock" --vault "$folder/vault" --host h1 \
    --platforms "$top_srcdir/policies/platforms" --pool wafer=cs3:4 >"$folder/wafersim.log" 2>&1 </dev/null &
systems=$!
trap 'kill $systems; clean' EXIT
within 20 four_up
ok 'the controller starts, with four systems'

job "$folder/job.yaml" 30000 && sed -i /^limit:/d "$folder/job.yaml"
first=$(submit --set project=nlp "$folder/job.yaml") && within 20 runs "$first" && same "$(field "$first" .limit_s)" 10800
ok 'a job without a limit has that of its project'
second=$(submit --set project=nlp "$folder/job.yaml") && reason_is "$second" QuotaProject &&
    run 0 explain "$second" && out_has '1 of 1 systems of project nlp are used; it needs 1' &&
    out_like "blocked by *job $first" && out_has 'wafer quota show nlp' && same "$(field "$second" .reason.est_start)" null
ok 'the next of the project waits, and is told why'
third=$(submit --systems 2 "$folder/job.yaml") && within 20 runs "$third"
ok 'and blocks nobody'
fourth=$(submit "$folder/job.yaml") && reason_is "$fourth" QuotaUser && run 0 explain "$fourth" &&
    out_has '3 of 3 systems of its user are used'
ok 'a user has so many systems, and no more'
run 75 submit "$folder/job.yaml" && err_has '2 jobs that wait, and may have 2'
ok 'more than may wait is refused for now'
run 65 submit --set project=nlp --limit 11h "$folder/job.yaml" && err_has 'project nlp may have at most 10h' &&
    run 65 submit --array 0-9 "$folder/job.yaml" && run 65 update "$second" --set limit=20h
ok 'what may never be is refused for good'
run 0 quota show && out_like 'user .* 3 of 3 .* 2 of 2' && out_like 'project *nlp *1 of 1' && out_has '10:00:00' &&
    run 0 quota show nlp && run 0 quota show "$me" &&
    out_like 'user .* 3 of 3'
ok 'quota show tells what is used of what'
run 0 whoami && out_has '3 systems' && run 0 queue show wafer && out_has 'at most 4 elements'
ok 'and so do whoami and queue show'

kill -9 "$daemon" && wait "$daemon" 2>/dev/null
start
reason_is "$fourth" QuotaUser && reason_is "$second" QuotaUser && run 0 quota show && out_like '3 of 3 .* 2 of 2'
ok 'a restart counts the same'
rules 2 "every: user, systems: 1" 'project: nlp, systems: 1' && kill -HUP "$daemon" &&
    within 10 is_reloaded && runs "$third" && runs "$first"
ok 'lower limits disturb nobody who runs'
rules 3 "every: user, systems: 4" 'project: nlp, systems: 1' && kill -HUP "$daemon" && within 20 runs "$fourth"
ok 'higher ones let the next one start'
run 0 cancel --yes --now "$first" && within 20 runs "$second"
ok 'when the job of its project ends, the other starts'
run 0 cancel --yes --now "$second" "$third" "$fourth"
ok 'all is cancelled'

# ---- budgets ----

tells() { wafer events | grep QUOTA_CHANGED | grep -q -e "$1"; }
budget() { # budget SERIAL HARD
    rules "$1" "project: vision, budget: {soft: \"10.00 EUR\", hard: \"$2 EUR\", window: 400d}" \
        'every: user, system_hours: {max: 100000, window: 30d}'
    kill -HUP "$daemon"
}
budget 4 1000.00 && within 20 all_free
first=$(submit --set project=vision --systems 4 "$folder/job.yaml") && within 20 tells 'warning from 10.00'
ok 'a soft budget is told of'
second=$((first + 1))
run 0 submit --set project=vision "$folder/job.yaml" && err_has 'of 1000.00 EUR are spent in 400 days' &&
    reason_is "$second" Resources
ok 'also to whom hands in a job, which may start nevertheless'
budget 5 20.00 && within 20 is "$second" .reason.code BudgetSpent && runs "$first" && within 20 tells 'of 20.00 EUR are spent'
ok 'a hard one holds what waits, and what runs goes on'
kill -9 "$daemon" && wait "$daemon" 2>/dev/null
start
run 0 cancel --yes --now "$first" && within 20 all_free && run 0 explain "$second" && out_has 'BudgetSpent' &&
    same "$(wafer events | grep -c 'QUOTA_CHANGED.*of 20.00 EUR are spent')" 1
ok 'over a restart as well, and that is told once'
run 2 plan --set project=vision --limit 2h "$folder/job.yaml" && out_like 'would wait: BudgetSpent' &&
    out_like 'quota  *user .*: .* -> .* of 100000 system-hours in 30d' && out_like 'project vision: .* of 20.00 EUR in 400d' &&
    run 2 plan --set project=vision "$folder/job.yaml" -o json &&
    same "$(jq -r '[.item.quotas[] | .name] | join(" ")' "$folder/out")" "$(id -un) vision"
ok 'plan tells what would come of it, and what is used'
run 0 quota show vision && out_like 'vision .* of 20.00 EUR in 400d' && run 0 -o json quota show
ok 'quota show says how much'
budget 6 100000.00 && within 20 runs "$second" && run 0 cancel --yes --now "$second"
ok 'with a higher budget it starts'
finish
