#!/bin/sh
# An urgent job stops others, which go on afterwards from what they saved: on real processes, with a kill of
# the controller in between.
# shellcheck disable=SC1091,SC2154,SC2034,SC2015,SC2181 # lib.sh has what is missing here, and uses the rest
. "${top_srcdir:=$(dirname "$0")/../..}/tests/e2e/lib.sh"

mkdir "$folder/state" "$folder/vault" "$folder/policies"
cp "$top_srcdir/policies/roles.yaml" "$folder/policies"
rules() { # rules SERIAL LINE
    printf 'apiVersion: wafer/v1\nkind: Scheduling\nserial: %s\n%s\n' "$1" "$2" >"$folder/policies/scheduling.yaml"
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

rules 1 'preempt: {by: p3, of: p1}'
"$top_builddir/waferd" --config "$folder/site.yaml" --check-config >"$folder/out" 2>&1
[ $? -eq 78 ] && out_has 'by must be more urgent than of'
ok 'rules the wrong way round are refused'
rules 1 ''
start
ok 'the controller starts'
"$top_builddir/wafersim" --socket "$folder/agent.sock" --vault "$folder/vault" --host h1 \
    --platforms "$top_srcdir/policies/platforms" --pool wafer=cs3:4 >"$folder/wafersim.log" 2>&1 </dev/null &
systems=$!
trap 'kill $systems; clean' EXIT
within 20 four_up
ok 'and its systems'

job "$folder/long.yaml" 30000
job "$folder/short.yaml" 2000
low=$(submit --priority p3 --systems 2 "$folder/long.yaml") &&
    middle=$(submit --priority p2 --systems 2 "$folder/long.yaml") &&
    within 20 has_reached "$low" 400 && within 20 has_reached "$middle" 1
ok 'two jobs have all systems'
urgent=$(submit --priority p1 --systems 2 "$folder/short.yaml") && is "$urgent" .reason.code Resources
ok 'nobody is stopped for another unless the rules say so'
rules 2 'preempt: {by: p1, of: p3}' && kill -HUP "$daemon" && within 10 has_event "$low" PREEMPTED
ok 'by a reload they do'
kill -9 "$daemon" && wait "$daemon" 2>/dev/null
start
ok 'the controller is killed while the other is being stopped'
run 0 wait "$urgent" && run 0 events "$low" && out_has "for job $urgent, which is more urgent" &&
    same "$(field "$middle" .attempt)" 1
ok 'the urgent job runs to its end; who was less urgent than it, and not enough so, is left alone'
within 20 runs "$low" && run 0 show "$low" --attempts && out_has PREEMPTED &&
    [ "$(field "$low" '.steps_lost')" -lt 300 ]
ok 'who was stopped goes on, from what it saved'
same "$(wafer -o json report "$low" | jq '[(.items // [.item])[0].attempts[] | select(.cause == "PREEMPTED")] | length')" 1
ok 'once'
run 0 cancel --yes "$low" "$middle" && run 3 wait "$low"
ok 'all is cancelled'
finish
