#!/bin/sh
# To the GPU pool and back: one job, one lineage, and the digest of a run that nobody disturbed.
# shellcheck disable=SC1091,SC2154,SC2034,SC2015,SC2181 # lib.sh has what is missing here, and uses the rest
. "${top_srcdir:=$(dirname "$0")/../..}/tests/e2e/lib.sh"

runs_in() { runs "$1" && is "$1" .pool "$2"; }

begin fallback
ok 'the controller is ready'
job "$folder/plain.yaml" 30000
undisturbed=$(submit "$folder/plain.yaml") && run 0 wait "$undisturbed"
ok 'a run that nobody disturbs'

moved=$(submit --set 'fallback={pool: gpu}' "$folder/plain.yaml") && within 20 has_reached "$moved" 700 &&
    run 2 fallback --plan "$moved" && out_has 'are made again' && out_has 'its attempt is stopped first' &&
    is "$moved" .pool wafer
ok 'fallback --plan says what is lost, and moves nothing'
run 0 fallback "$moved" --reason 'wafer is needed' && within 20 runs_in "$moved" gpu && kill_daemon && begin fallback &&
    within 20 runs_in "$moved" gpu && run 2 fallback "$moved" && err_has 'in pool gpu already'
ok 'it goes on in the GPU pool, also after a kill of the controller'
run 0 return "$moved" && within 20 runs_in "$moved" wafer && run 0 wait "$moved" &&
    same "$(digest "$moved")" "$(digest "$undisturbed")"
ok 'and comes back, to the same end'
run 0 show --attempts "$moved" && out_has gpu && run 0 events "$moved" && out_has 'to pool gpu: wafer is needed' &&
    out_has 'to pool wafer' && same "$(field "$moved" .lineage)" "$moved"
ok 'one job, one lineage, attempts in both pools'

lacks=$(submit --set 'fallback={pool: gpu, when: [UNSUPPORTED_OPERATOR]}' --set 'workload.operators=[conv3d]' \
    --set workload.precision=bf16 --set workload.steps=600 "$folder/plain.yaml") && run 0 wait "$lacks" && is "$lacks" .pool gpu
ok 'what the wafer cannot compile, the GPU pool runs'
run 65 submit --set 'fallback={pool: nowhere}' "$folder/plain.yaml" && err_has 'fallback.pool'
ok 'an impossible fallback is refused when the job is handed in'
run 2 return "$moved" && err_has 'has ended'
ok 'of a job that has ended nothing moves'
finish
