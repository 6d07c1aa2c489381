#!/bin/sh
# What a checkpoint is good for: resumed from, here and elsewhere, kept, pinned, pruned, and never
# trusted when it is damaged or unfinished.
# shellcheck disable=SC1091,SC2154,SC2034,SC2015,SC2181 # lib.sh has what is missing here, and uses the rest
. "${top_srcdir:=$(dirname "$0")/../..}/tests/e2e/lib.sh"

steps_of() { wafer -o json ckpt ls "$1" | jq -r "[.items[] | select(.state == \"${2:-VERIFIED}\") | .step] | join(\" \")"; }
keeps() { [ "$(steps_of "$1")" = "$2" ]; }
state_of() { wafer -o json ckpt show "$1" | jq -r .item.state; }

# flip JOB STEP: one bit of one byte in the middle of a shard.
flip() {
    for shard in "$dir/vault/ckpt/$1/$(printf '%012d' "$2")".*/shard-001; do
        byte=$(od -An -tu1 -j 1000 -N 1 "$shard" | tr -d ' ')
        # shellcheck disable=SC2059 # the format is the byte
        printf "\\$(printf '%03o' $((byte ^ 1)))" | dd of="$shard" bs=1 seek=1000 conv=notrunc 2>/dev/null
    done
}

# is_settled JOB: nothing that its systems wrote is still to be committed, read back or deleted.
is_settled() { [ "$(wafer -o json ckpt ls "$1" | jq '[.items[] | select(.state | test("WRITTEN|COMMITTED|DELETING"))] | length')" = 0 ]; }
has_verified() { [ "$(steps_of "$1" | wc -w)" -ge "$2" ]; } # has_verified JOB COUNT
runs_with() { runs "$1" && has_verified "$1" "$2"; }

begin checkpoints
job "$folder/plain.yaml" 3000 1 300 '{last: 5}'
run 0 submit --wait "$folder/plain.yaml"
ok 'a job succeeds'
undisturbed=$(digest 1)
within 5 keeps 1 '1800 2100 2400 2700 3000'
ok 'and its last five checkpoints are kept'

run 0 ckpt verify 1@2700 && same "$(state_of 1@2700)" VERIFIED
ok 'verify finds a good one good'
run 0 ckpt pin 1@1800 && run 0 ckpt prune --dry-run 1 && keeps 1 '1800 2100 2400 2700 3000'
ok 'prune --dry-run deletes nothing'
grep -q '1@1800.1 .*kept: pinned' "$folder/out" && grep -q '1@2700.1 .*kept: one of the last 5' "$folder/out" &&
    grep -q '1@3000.1 .*kept: the newest' "$folder/out"
ok 'and says of each why it is kept'
run 0 ckpt prune 1 && within 5 keeps 1 '1800 2100 2400 2700 3000'
ok 'prune leaves what the rules of the job keep'

# Out of descriptors, nothing is wrong with the checkpoint.
# Two are free: one for the connection of wafer, one for the first directory.
limit=0 free=0
while [ "$free" -lt 2 ]; do
    [ -e "/proc/$daemon/fd/$limit" ] || free=$((free + 1))
    limit=$((limit + 1))
done
soft=$(prlimit --pid "$daemon" --nofile --output SOFT --noheadings)
prlimit --pid "$daemon" --nofile="$limit:"
run 75 ckpt verify 1@2700 && err_has 'neither good nor bad'
ok 'one that cannot be read for now is not called damaged'
prlimit --pid "$daemon" --nofile="$soft:"
run 0 ckpt verify 1@2700 && same "$(state_of 1@2700)" VERIFIED
ok 'and is found good when it can be read again'

# What a resume would do, before it does it.
run 0 resume --plan 1 --from 2100 && out_has 'resumes     job 1, as a new job' && out_has 'from        checkpoint 1@2100' &&
    out_has 'lost        900 steps are made again' && out_has 'pool takes' && out_has 'would start now'
ok 'resume --plan says from where, and what is lost'
run 2 resume --plan 1 --from 2100 --systems 1000 && run 65 resume --plan 1 --from 2101 &&
    run 0 -o json resume --plan 1 --from 2400 --pool gpu &&
    jq -e '.item.resumption.steps_lost == 600 and .item.explanation.job.pool == "gpu"' "$folder/out" >/dev/null &&
    same "$(wafer -o json ls --all | jq .total)" 1
ok 'and no job comes of it'

# Resumed: the same end from anywhere, in any pool, also twice at once.
first=$(submit --name keep "$folder/plain.yaml" --set resume.init_from=1@2400)
run 0 resume -q 1 --from 2100 && a=$(cat "$folder/out") && run 0 resume -q 1 --from 2100 && b=$(cat "$folder/out") &&
    run 0 resume -q 1 --from 2400 --pool gpu && c=$(cat "$folder/out")
ok 'an ended job is resumed as new jobs, two of them from one checkpoint'
same "$(field "$a" .resumed_from)" 1 && is 1 .state SUCCEEDED
ok 'they say from which, and the old one stays as it is'
run 0 wait --timeout 20s "$a" "$b" "$c" "$first"
ok 'all succeed'
same "$(digest "$a")" "$undisturbed" && same "$(digest "$b")" "$undisturbed"
ok 'two resumed from one checkpoint at once have the undisturbed digest'
same "$(digest "$c")" "$undisturbed" && is "$c" .pool gpu
ok 'and so has one that moved to the GPU pool'
[ "$(steps_of "$a" | cut -d' ' -f1)" -gt 2100 ]
ok 'resumed, not begun again: its checkpoints come after the one that it started from'
[ "$(digest "$first")" != "$undisturbed" ] && is "$first" .result.final_step 3000 &&
    same "$(wafer events "$first" | grep -c 'step 300 committed')" 1
ok 'init_from starts at step 0, and ends with another digest'

# A clean-up removed what was registered for use: https://github.com/determined-ai/determined/pull/4316
pinned=$(submit --name pinned "$folder/plain.yaml" --set workload.steps=1000000 --set 'checkpoint.keep={last: 1}')
catch runs_with "$pinned" 1 && within 5 is_settled "$pinned"
early=$(steps_of "$pinned" | awk '{ print $NF }')
run 0 ckpt pin "$pinned@$early"
ok 'a checkpoint of a live job is pinned'
go_on
has_later() { runs "$pinned" && [ "$(steps_of "$pinned" | awk '{ print $NF }')" -gt "$early" ]; }
within 20 has_later && run 0 cancel "$pinned" && run 3 wait --timeout 20s "$pinned" && within 5 is_settled "$pinned" &&
    last=$(steps_of "$pinned" | cut -d' ' -f2) && keeps "$pinned" "$early $last"
ok 'beside the last, what is pinned stays'
run 0 ckpt prune "$pinned" && within 5 keeps "$pinned" "$early $last"
ok 'prune leaves both'
run 0 ckpt unpin "$pinned@$early" && run 0 ckpt prune "$pinned" && within 5 keeps "$pinned" "$last"
ok 'and not what is pinned no more'
run 65 resume "$pinned" --from "$early" && err_has "$early"
ok 'what was pruned cannot be resumed from'

# Damage.
half=$(submit --name half "$folder/plain.yaml" --set workload.steps=1000000)
# The last of its checkpoints may still be read back when the job has ended.
within 10 has_verified "$half" 3 && run 0 cancel --now "$half" && run 3 wait "$half" && within 5 is_settled "$half"
ok 'a job is cancelled half-way'
# shellcheck disable=SC2046 # one word a step
set -- $(steps_of "$half" | awk '{ print $NF, $(NF - 1), $(NF - 2) }')
newest=$1 before=$2 oldest=$3
flip "$half" "$newest"
run 1 ckpt verify "$half@$newest" && same "$(state_of "$half@$newest")" CORRUPT
ok 'one flipped bit makes verify end with 1, and the checkpoint CORRUPT'
run 65 resume "$half" --from "$newest"
ok 'it cannot be resumed from'
flip "$half" "$before" # and nobody has noticed yet
rest=$(wafer resume -q "$half") && within 10 has_event "$rest" CHECKPOINT_UNREADABLE &&
    same "$(state_of "$half@$before")" CORRUPT && has_event "$half" "step $before is CORRUPT"
ok 'a damaged one that nobody had noticed is found when it is read, also where its job has ended'
within 10 has_event "$rest" "from step $oldest\$" && within 10 has_verified "$rest" 1 &&
    run 0 cancel --now "$rest" && run 3 wait "$rest" && has_event "$rest" "step $((oldest + 300)) "
ok 'and the run goes on from the one before it'
flip "$half" "$oldest"
named=$(wafer resume -q "$half" --from "$oldest") && run 1 wait "$named" && is "$named" .cause CHECKPOINT_UNREADABLE &&
    field "$named" .detail | grep -q 'nothing else'
ok 'who names one that is damaged gets no other instead'

# A live job falls back by itself, also when nobody had noticed the damage.
live=$(submit --name live "$folder/plain.yaml" --set workload.steps=30000)
within 20 runs_with "$live" 1 && run 2 resume --plan "$live" && out_has 'its attempt is stopped first' &&
    is "$live" .attempt 1
ok 'a job that runs would be stopped for a resume, and is not for a plan'
catch runs_with "$live" 2 && within 5 is_settled "$live"
# shellcheck disable=SC2046 # one word a step
set -- $(steps_of "$live" | awk '{ print $NF, $(NF - 1) }')
flip "$live" "$1"
kill_systems
is_corrupt() { [ "$(state_of "$1")" = CORRUPT ]; }
within 10 is_corrupt "$live@$1"
ok 'damage that a live job reads is found without being asked for'
within 10 has_event "$live" "from step $2\$" && run 0 wait --timeout 20s "$live"
ok 'and the job goes on from the one before, and succeeds'

# Retention: numbers, not names, in order; the newest and the best stay.
# https://github.com/huggingface/transformers/issues/27138
job "$folder/numbers.yaml" 11000 1 500 '{last: 3, every_steps: 4000}'
numbers=$(submit "$folder/numbers.yaml")
run 0 wait --timeout 20s "$numbers" && within 5 keeps "$numbers" '4000 8000 10000 10500 11000'
ok 'the last three in number and each 4,000th are kept'
best=$(submit --set 'quality={metric: eval_loss, every: {steps: 300}}' \
    --set 'checkpoint.keep={last: 2, best: {n: 1, metric: eval_loss, mode: max}}' "$folder/plain.yaml")
run 0 wait --timeout 20s "$best" && within 5 keeps "$best" '300 2700 3000'
ok 'the best is kept beside the last two, however old'
stop_all

# https://github.com/huggingface/transformers/issues/35782: big enough to be caught while it is saved.
cat >"$folder/big.yaml" <<'END'
apiVersion: wafer/v1
kind: Job
name: big
queue: gpu
systems: {count: 1}
limit: 2-0
workload:
  model: {family: gpt, layers: 40, hidden: 5120, heads: 40, vocab: 50257, seq: 2048}
  precision: bf16
  batch: 120
  steps: 40
checkpoint: {every: {steps: 10}}
retry: {max: 10, backoff: {first: 1s, max: 5s}}
END
speed=150
begin incomplete
big=$(submit "$folder/big.yaml")
is_writing() { # a step after one that is complete: $half_saved
    half_saved=$(wafer -o json ckpt ls "$big" | jq 'first(.items[] | select(.step >= 20 and .state == "WRITING") | .step)') &&
        [ -n "$half_saved" ]
}
catch is_writing
ok 'the systems stand still while a step is being saved'
kill_systems
within 10 has_event "$big" "$half_saved is INCOMPLETE"
ok 'they die, and that checkpoint is INCOMPLETE'
run 65 resume "$big" --from "$half_saved"
ok 'and cannot be resumed from'
run 0 wait --timeout 30s "$big" && [ "$(field "$big" .attempt)" -eq 2 ]
ok 'the job succeeds in its second attempt'
has_event "$big" "from step $((half_saved - 10))\$"
ok 'which began after the step before, whose checkpoint was complete'
[ "$(steps_of "$big" | grep -cw "$half_saved")" -eq 1 ]
ok 'the step is saved again, and VERIFIED'
again=$(submit "$folder/big.yaml")
run 0 wait --timeout 30s "$again" && same "$(digest "$big")" "$(digest "$again")"
ok 'with the digest of an undisturbed run'
finish
