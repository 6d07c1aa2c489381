#!/bin/sh
# cancel.sh [COUNT] - jobs cancelled around their start: the cancel is never lost or overtaken. Each
# ends CANCELLED, or the reply said that it had already ended.
# https://github.com/flux-framework/flux-core/issues/2279
# shellcheck disable=SC1091,SC2154,SC2034,SC2015,SC2181 # lib.sh has what is missing here, and uses the rest
. "${top_srcdir:=$(dirname "$0")/../..}/tests/e2e/lib.sh"
count=${1:-60}
speed=10000
seed=$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')
echo "# seed $seed"
awk -v n="$count" -v seed="$seed" 'BEGIN {
    srand(seed)
    for (i = 1; i <= n; i++) printf "%.3f %s %s\n", rand() * 0.05, rand() < 0.5 ? "long" : "short", rand() < 0.5 ? "--now" : "--grace=5m"
}' >"$folder/choices"
job "$folder/long.yaml" 1000000
job "$folder/short.yaml" 5

begin cancel
wafer submit --wait "$folder/short.yaml" >"$folder/out" 2>"$folder/err"
ok 'a job that nobody cancels succeeds'

while read -r pause kind how; do
    id=$(submit "$folder/$kind.yaml")
    sleep "$pause"
    wafer cancel "$how" "$id" >"$folder/out" 2>"$folder/err"
    echo "$id $? $(tail -n 1 "$folder/err")" >>"$folder/replies"
done <"$folder/choices"
same "$(wc -l <"$folder/replies")" "$count"
ok "$count jobs are cancelled at 0 to 50 ms after they were submitted"

jobs=$(cut -d' ' -f1 "$folder/replies")
# shellcheck disable=SC2086 # one word a job
wafer wait --timeout 20s $jobs >"$folder/out" 2>"$folder/err"
[ $? -ne 6 ]
ok 'all of them end'

cancelled=0 ended=0 wrong=0
while read -r id status reply; do
    state=$(field "$id" .state)
    case "$status $state $reply" in
    '0 CANCELLED '*) cancelled=$((cancelled + 1)) ;;
    '2 SUCCEEDED '*'already ended'*) ended=$((ended + 1)) ;;
    *)
        wrong=$((wrong + 1))
        echo "# job $id is $state; the reply was $status, $reply"
        ;;
    esac
done <"$folder/replies"
same "$wrong" 0
ok 'CANCELLED, or the reply was that it had already ended'
echo "# $cancelled cancelled, $ended had already ended"
[ "$cancelled" -gt 0 ]
ok 'and not all had ended'
within 10 all_free
ok 'all systems are free'

last=$(echo "$jobs" | tail -n 1)
before=$(field "$last" .state)
run 2 cancel "$last" && err_has 'already ended' && is "$last" .state "$before"
ok 'an ended job cannot be cancelled'
id=$(submit --hold "$folder/long.yaml")
run 0 cancel --reason 'not needed' "$id" && is "$id" .state CANCELLED && is "$id" .attempt 0
ok 'a job that never started is CANCELLED at once'
has_event "$id" 'not needed'
ok 'and its events say why'
finish
