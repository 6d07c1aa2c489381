#!/bin/sh
# `make bench`: how fast the controller is, each figure beside what this machine can do in the same
# run. Prints a table and writes bench.json. BENCH_DIR is where the state goes (default /var/tmp): it
# must be on a real disk. `nice -n -5 make bench` helps on a machine where others work too.
set -u
: "${top_builddir:=.}" "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}"
LC_ALL=C.UTF-8
export LC_ALL
unset WAFER_SERVER WAFER_OUTPUT
here=$top_builddir/tests/bench
jobs=$top_srcdir/tests/bench
json=bench.json
dir=$(mktemp -d "${BENCH_DIR:-/var/tmp}/waferd-bench.XXXXXX") || exit 1
results=$dir/results
daemon="" systems=""

clean() {
    [ -z "$daemon" ] || kill -9 "$daemon" 2>/dev/null
    [ -z "$systems" ] || kill -9 "$systems" 2>/dev/null
    { wait; } 2>/dev/null # without a word of the shell's about them
    rm -rf "$dir"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

die() {
    echo "$*" >&2
    [ ! -s "$dir/waferd.log" ] || tail -n 5 "$dir/waferd.log" >&2
    exit 1
}
command -v jq >/dev/null || die 'jq is needed'

began=$(date +%s)
say() { echo "# $(($(date +%s) - began)) s: $*" >&2; }

# keep PREFIX COMMAND...: its lines "name value" are kept as "PREFIXname value".
keep() {
    prefix=$1
    shift
    "$@" >"$dir/out" || die "failed: $*"
    sed "s/^/$prefix/" "$dir/out" >>"$results"
}

# value NAME: the last one kept. calc EXPRESSION: over such names.
value() { awk -v name="$1" '$1 == name { last = $2 } END { print last }' "$results"; }
calc() {
    awk -v text="$1" '{ value[$1] = $2 } END {
        while (match(text, /[a-z][a-z0-9_]*/)) { # a value may have an e of its own: 1.2e+06
            done = done substr(text, 1, RSTART - 1) value[substr(text, RSTART, RLENGTH)]
            text = substr(text, RSTART + RLENGTH)
        }
        print done text }' "$results" | { read -r sum && awk "BEGIN { printf \"%.6g\", $sum }"; }
}
median() { awk -v name="$1" '$1 == name { print $2 }' "$results" | sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
spread() { awk -v name="$1" '$1 == name { print $2 }' "$results" | sort -g | awk 'NR == 1 { least = $1 } { most = $1 } END { printf "%.0f to %.0f", least, most }'; }

# memory PID: of its own, in bytes.
memory() { awk '/^RssAnon/ { print $2 * 1024 }' "/proc/$1/status"; }
cpu_us() { # cpu_us NAME PID: of its main thread and of all others
    tick_us=$((1000000 / $(getconf CLK_TCK)))
    awk -v name="$1" -v pid="$2" -v tick="$tick_us" '{
        sub(/.*\) /, ""); used = ($12 + $13) * tick
        if (FILENAME ~ "/" pid "/stat$") main += used; else rest += used
    } END { print name "_main_us", main; print name "_rest_us", rest + 0 }' \
        /proc/"$2"/task/*/stat >>"$results"
}

# ---- the machine ----

say 'what this machine can do'
keep '' "$here/limits" "$dir" "$jobs/null.yaml"

# ---- the controller, with 64 systems that take no time ----

cat >"$dir/site.yaml" <<SITE
apiVersion: wafer/v1
kind: Site
state_dir: $dir/state
vault_dir: $dir/vault
socket: $dir/waferd.sock
agent_socket: $dir/agent.sock
platforms_dir: $jobs
pools: [{name: wafer, platform: idle}]
speed: 100000
SITE
WAFER_SOCKET=$dir/waferd.sock
BENCH_LOOP_FILE=$dir/loop
export WAFER_SOCKET BENCH_LOOP_FILE

start_daemon() {
    LD_PRELOAD=$here/loop_watch.so "$top_builddir/waferd" --config "$dir/site.yaml" 2>>"$dir/waferd.log" &
    daemon=$!
}
start_systems() {
    "$top_builddir/wafersim" --socket "$dir/agent.sock" --vault "$dir/vault" --platforms "$jobs" \
        --host bench --pool wafer=idle:64:s 2>>"$dir/wafersim.log" &
    systems=$!
}
within() { # within SECONDS COMMAND...
    tries=$(($1 * 20))
    shift
    until "$@" 2>/dev/null; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || die "waited in vain for: $*"
        sleep 0.05
    done
}
up() { [ "$("$top_builddir/wafer" -o json system ls | jq '[.items[] | select(.state == "UP")] | length')" = 64 ]; }
taken() { [ "$("$top_builddir/wafer" -o json system ls | jq '[.items[] | select(.job != null)] | length')" = "$1" ]; }

start_daemon
start_systems
within 10 up

say 'null jobs on 64 systems'
null_jobs=10000
for round in 1 2 3; do
    cpu_us before_waferd "$daemon"
    cpu_us before_wafersim "$systems"
    keep null_ "$here/load" --until-ended "$dir/waferd.sock" "$jobs/null.yaml" 4 "$null_jobs"
    cpu_us after_waferd "$daemon"
    cpu_us after_wafersim "$systems"
done
for part in waferd_main waferd_rest wafersim_main wafersim_rest; do
    echo "null_${part}_us $(calc "(after_${part}_us - before_${part}_us) / $null_jobs")" >>"$results"
done
keep null_ "$here/commands" loop "$dir/loop" reset

say 'a full pool and 10,000 pending jobs'
"$here/load" "$dir/waferd.sock" "$jobs/long.yaml" 1 64 >/dev/null || die 'no long jobs'
within 10 taken 64
keep ten_ "$here/load" "$dir/waferd.sock" "$jobs/null.yaml" 4 10000
keep ls_ "$here/commands" repeat 15 "$top_builddir/wafer" ls --limit 20000
keep ls_ "$here/commands" loop "$dir/loop" reset

say '100,000 pending jobs'
echo "memory_before $(memory "$daemon")" >>"$results"
for round in 1 2 3; do
    keep '' "$here/load" "$dir/waferd.sock" "$jobs/null.yaml" 4 30000
done
sleep 0.5
echo "memory_after $(memory "$daemon")" >>"$results"
keep submit_ "$here/commands" loop "$dir/loop" reset
keep '' "$here/commands" oneshot "$dir" "$top_builddir/wafer" submit -q "$jobs/null.yaml"
keep oneshot_ "$here/commands" loop "$dir/loop" reset

say 'kill -9 and start'
for round in 1 2 3; do
    keep '' "$here/commands" restart "$daemon" "$dir/waferd.sock" "$top_builddir/waferd" --config "$dir/site.yaml" 2>>"$dir/waferd.log"
    daemon=$(value pid)
done
"$top_builddir/wafer" -o json ls --limit 1 | jq -r '"live_jobs \(.total)"' >>"$results"
echo "memory_before_distinct $(memory "$daemon")" >>"$results"
keep distinct_ "$here/load" --distinct "$dir/waferd.sock" "$jobs/null.yaml" 4 20000
sleep 0.5
echo "memory_after_distinct $(memory "$daemon")" >>"$results"

say 'passes of the scheduler, and replays'
for pending in 1000 10000 100000 1000000; do
    keep "pass_${pending}_" "$here/passes" "$pending"
done
# Real workloads are not part of this: their figures are only there where the folder is.
traces=
[ -z "${WAFERD_ORACLE_DIR-}" ] || traces=$(dirname "$WAFERD_ORACLE_DIR")
cpu_of() { # cpu_of NAME COMMAND...: of the whole process
    name=$1
    shift
    keep "${name}_" "$here/commands" repeat 5 "$@"
}
if [ -n "$traces" ]; then
    keep kth_ "$here/passes" "$traces/KTH-SP2-1996-2.swf.gz" 100
    cpu_of kth_whole "$top_builddir/wafer-replay" --ties submit-first "$traces/KTH-SP2-1996-2.swf.gz"
    cpu_of ctc "$top_builddir/wafer-replay" --ties submit-first "$traces/CTC-SP2-1996-3.1-cln.swf.gz" --systems 338
    cpu_of ctc_all "$top_builddir/wafer-replay" --ties submit-first --backfill conservative \
        "$traces/CTC-SP2-1996-3.1-cln.swf.gz" --systems 338
    cpu_of curie "$top_builddir/wafer-replay" --ties submit-first "$traces/CEA-Curie-2011.rebuilt.swf.gz" --systems 80640
fi

say 'simulated worlds'
"$top_builddir/tests/dst/dst" --seeds 1-40 >"$dir/worlds" || die 'a simulated world fails: tests/dst/dst --seeds 1-40'
sed -n 's/^[0-9]* worlds, \([0-9.]*\) h .*/dst_hours \1/p' "$dir/worlds" >>"$results"
sed -n 's/^seed .*: \([0-9]*\) events.*/\1/p' "$dir/worlds" | awk '{ n += $1 } END { print "dst_events", n }' >>"$results"
cpu_of dst "$top_builddir/tests/dst/dst" --seeds 1-40

say 'training steps, and the machine again'
keep '' "$here/steps" "$jobs/null.yaml"
keep again_ "$here/limits" "$dir" "$jobs/null.yaml"

# ---- what came out ----

best() { awk -v a="$(value "$1")" -v b="$(value "again_$1")" 'BEGIN { print (a > b ? a : b) }'; }
figure() { # figure NAME VALUE UNIT LIMIT NOTE
    jq -cn --arg name "$1" --argjson value "$2" --arg unit "$3" --argjson limit "${4:-null}" --arg note "$5" \
        '{$name, $value, $unit, $limit, $note}' >>"$dir/figures"
}

rows=$(best sqlite_rows_per_s)
synced=$(best fdatasync_per_s)
figure submit_pipelined_per_s "$(median submitted_per_s)" jobs/s "$rows" \
    "4 clients, durable; $(spread submitted_per_s) in 3 rounds; limit: SQLite rows, synchronous=FULL"
figure submit_oneshot_over_fsync_ms "$(calc 'oneshot_ms - oneshot_fsync_ms')" ms "$(value process_median_ms)" \
    "median of 60: process $(value oneshot_ms) ms, fsync $(value oneshot_fsync_ms) ms; limit: a process that does nothing"
figure job_end_to_end_per_s "$(median null_ended_per_s)" jobs/s "$(calc "64 * $synced")" \
    "$(spread null_ended_per_s) in 3 rounds; CPU us a job: loop $(value null_waferd_main_us), writer $(value null_waferd_rest_us), wafersim $(value null_wafersim_main_us) + $(value null_wafersim_rest_us); limit: 64 systems, one sync a job"
figure ls_10k_ms "$(value ls_median_ms)" ms "$(calc "10064 / unpack_per_s * 1000 + process_median_ms")" \
    "median of 15, least $(value ls_least_ms); limit: a process that unpacks as many requests"
figure restart_100k_s "$(median restart_s)" s "$(calc "100000 / unpack_per_s")" \
    "kill -9 to the first answer, $(value live_jobs) live jobs; limit: unpacking as many requests"
figure pending_bytes_per_job "$(calc '(memory_after - memory_before) / 90000')" B "$(value request_bytes)" \
    "90,000 jobs of one file; $(calc '(memory_after_distinct - memory_before_distinct) / 20000') B when no two are alike; limit: the request itself"
figure sim_steps_per_s "$(value steps_per_s)" steps/s null 'one system, one processor'
figure sched_pass_100k_ms "$(value pass_100000_full_median_ms)" ms null \
    "2,048 systems, conservative to depth 1,000, all planned anew; worst $(value pass_100000_full_worst_ms); 1k pending $(value pass_1000_full_median_ms), 10k $(value pass_10000_full_median_ms), 1M $(value pass_1000000_full_median_ms)"
figure sched_arrival_100k_ms "$(value pass_100000_arrival_median_ms)" ms null \
    "a pass after one arrival; worst $(value pass_100000_arrival_worst_ms); 1M pending $(value pass_1000000_arrival_median_ms)"
figure sched_end_100k_ms "$(value pass_100000_end_median_ms)" ms null \
    "a pass after one end; worst $(value pass_100000_end_worst_ms); 1k pending $(value pass_1000_end_median_ms), 10k $(value pass_10000_end_median_ms), 1M $(value pass_1000000_end_median_ms)"
if [ -n "$traces" ]; then
    figure replay_pass_jobs_per_s "$(value kth_jobs_per_s)" jobs/s null 'KTH, EASY, requested limits, without reading the file'
    figure replay_easy_jobs_per_s "$(calc "28481 / kth_whole_cpu_s")" jobs/s null 'the same as a process that reads the gzip file, CPU time'
    figure replay_ctc_easy_s "$(value ctc_cpu_s)" s null "CPU of the process; conservative $(value ctc_all_cpu_s) s"
    figure replay_curie_easy_s "$(value curie_cpu_s)" s null "CPU of the process; $(value curie_memory_mb) MB"
else
    echo "# replay figures are left out: WAFERD_ORACLE_DIR is not set" >&2
fi
figure dst_hours_per_hour "$(calc 'dst_hours * 3600 / dst_cpu_s')" h/h null \
    "40 worlds under faults and their calm, CPU time; $(calc 'dst_events / dst_cpu_s') events/s"
figure loop_block_max_ms "$(value submit_loop_block_ms)" ms "$(best fdatasync_p99_ms)" \
    "of $(value submit_loop_turns) turns while 90,000 jobs came; CPU alone $(value submit_loop_block_cpu_ms); null jobs $(value null_loop_block_ms) (CPU $(value null_loop_block_cpu_ms)), ls $(value ls_loop_block_ms) (CPU $(value ls_loop_block_cpu_ms)); limit: 99th percentile of a sync"
figure fdatasync_per_s "$synced" syncs/s null "append 4 KiB; median $(value fdatasync_median_ms) ms before, $(value again_fdatasync_median_ms) after"
figure sqlite_rows_per_s "$rows" rows/s null "300 B, one index, batches of 256 or 4096; before $(value sqlite_rows_per_s), after $(value again_sqlite_rows_per_s)"
figure protobuf_unpack_per_s "$(best unpack_per_s)" messages/s null "a submission of $(value request_bytes) B"
figure unix_round_trips_per_s "$(best round_trips_per_s)" trips/s null "300 B each way, one client; median $(value round_trip_median_ms) ms"

jq -s . "$dir/figures" >"$json"
jq -r '.[] | [.name, .value, .unit, .limit // "-", .note] | @tsv' "$json" | awk -F '\t' '
    function short(x) { return x == "-" ? x : x >= 100 ? sprintf("%.0f", x) : sprintf("%.3g", x) }
    { printf "%-29s %12s %-10s limit %10s  %s\n", $1, short($2), $3, short($4), $5 }'
