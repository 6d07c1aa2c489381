#!/bin/sh
# kills.sh [COUNT] [SEED] - jobs survive that COUNT times, at moments that SEED decides, the controller,
# the simulated systems or both are killed with SIGKILL: nothing acknowledged is lost, nothing runs
# twice, and each job ends as it would have ended undisturbed.
# shellcheck disable=SC1091,SC2154,SC2034,SC2015,SC2181 # lib.sh has what is missing here, and uses the rest
. "${top_srcdir:=$(dirname "$0")/../..}/tests/e2e/lib.sh"
count=${1:-20}
seed=${2:-$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')}
kinds=4
echo "# kills.sh $count $seed repeats the choices of this run"

# One line for a kill: the time before it in seconds, what dies, and what kind of job comes meanwhile.
awk -v n="$count" -v seed="$seed" -v kinds="$kinds" 'BEGIN {
    srand(seed)
    split("systems daemon both", who)
    for (i = 1; i <= n; i++) printf "%.3f %s %d\n", 0.05 + rand() * 0.5, who[1 + int(rand() * 3)], 1 + int(rand() * kinds)
}' >"$folder/choices"

for kind in $(seq "$kinds"); do job "$folder/$kind.yaml" $((9000 + 1500 * kind)) "$kind" $((200 + 50 * kind)); done
sed -i 's/^systems: .*/systems: {count: 2}/' "$folder/2.yaml"

# hand_in KEY KIND: once more under the same key until it is acknowledged, as a careful client does.
hand_in() {
    for _ in $(seq 200); do
        id=$(submit --timeout 5s --key "$1" "$folder/$2.yaml") && [ -n "$id" ] && break
        sleep 0.05
    done
    [ -n "$id" ] && echo "$1 $2 $id" >>"$folder/jobs"
}

begin undisturbed
for kind in $(seq "$kinds"); do wafer submit -q "$folder/$kind.yaml" >/dev/null; done
run 0 wait --timeout 60s $(seq "$kinds")
ok 'undisturbed, each kind of job succeeds'
for kind in $(seq "$kinds"); do digest "$kind" >"$folder/$kind.digest"; done
same "$(sort -u "$folder"/*.digest | wc -l)" "$kinds"
ok 'and no two have the same digest'
stop_all

begin disturbed
for kind in $(seq "$kinds"); do hand_in "first-$kind" "$kind"; done
kill=0
while read -r pause who kind; do
    kill=$((kill + 1))
    sleep "$pause"
    # The answer may be lost with who was to give it: that is what the key is for.
    [ $((kill % 3)) -ne 0 ] || { hand_in "during-$kill" "$kind" & }
    client=$!
    case $who in systems | both) kill_systems ;; esac
    case $who in daemon | both)
        kill_daemon
        begin disturbed || echo "# it did not come back after kill $kill"
        ;;
    esac
    [ $((kill % 3)) -ne 0 ] || wait "$client"
done <"$folder/choices"
kill -0 "$daemon"
ok "after $count kills the controller runs"

jobs=$(cut -d' ' -f3 "$folder/jobs")
same "$(wc -l <"$folder/jobs")" "$(sort -u -k3,3 "$folder/jobs" | wc -l)"
ok 'each key has a job of its own'
same "$(wafer -o json ls --all | jq .total)" "$(wc -l <"$folder/jobs")"
ok 'and there is no other job'
# shellcheck disable=SC2086 # one word a job
run 0 wait --timeout $((60 + count))s $jobs
ok 'every acknowledged job is there, and succeeds'

wrong=0
while read -r key kind id; do
    [ "$(digest "$id")" = "$(cat "$folder/$kind.digest")" ] || {
        wrong=$((wrong + 1))
        echo "# job $id of key $key: state $(field "$id" .state), digest $(digest "$id"), undisturbed $(cat "$folder/$kind.digest")"
    }
done <"$folder/jobs"
same "$wrong" 0
ok 'each with the digest of an undisturbed run'

wrong=0
while read -r key kind id; do
    started=$(wafer events "$id" | grep -c JOB_STARTED)
    ended=$(wafer events "$id" | grep -c JOB_ENDED)
    [ "$started" -eq "$(field "$id" .attempt)" ] && [ "$ended" -eq 1 ] || {
        wrong=$((wrong + 1))
        echo "# job $id: $started starts for attempt $(field "$id" .attempt), $ended ends"
    }
done <"$folder/jobs"
same "$wrong" 0
ok 'attempts are as many as starts, and each job has ended once'

# A key is kept for a day of the cluster after the end of its job, which is half a minute here.
is_kept() { wafer -o json show "$1" | jq -e --arg now "$(now)" '
    def seconds: sub("\\.[0-9]+"; "") | fromdateiso8601;
    ($now | seconds) - (.item.ended_at | seconds) < 20 * 3600' >/dev/null; }
now() { wafer -o json ls | jq -r .generated_at; }
lost=0
while read -r key kind id; do
    is_kept "$id" || continue
    same "$(submit --key "$key" "$folder/$kind.yaml")" "$id" || lost=$((lost + 1))
done <"$folder/jobs"
same "$lost" 0
ok 'a key still gives its job'
within 10 all_free
ok 'all systems are free'
attempts=$(wafer -o json ls --all | jq '[.items[].attempt] | add')
echo "# $(wc -l <"$folder/jobs") jobs, $attempts attempts, $count kills"
finish
