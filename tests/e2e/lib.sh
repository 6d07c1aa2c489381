# lib.sh - sourced by the shell tests of the whole product: TAP, a controller with simulated systems in
# a folder of its own, and waiting with an end. A test ends only processes whose id it knows.
# shellcheck shell=sh disable=SC1007,SC2015,SC2094
set -u
: "${top_builddir:=.}" "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}"
LC_ALL=C.UTF-8 TZ=UTC COLUMNS=100 TERM=dumb
export LC_ALL TZ COLUMNS TERM
unset NO_COLOR WAFER_SERVER WAFER_OUTPUT WAFER_TZ WAFER_SORT WAFER_LS_COLUMNS WAFER_EXIT_ERROR
folder=$(mktemp -d /tmp/wafer-e2e.XXXXXX) || exit 99
mkdir "$folder/documents"
HOME=$folder XDG_CONFIG_HOME=$folder/config && export HOME XDG_CONFIG_HOME
number=0
failed=0
dir= daemon= logs=0

if ! command -v jq >/dev/null 2>&1; then
    echo '1..0 # SKIP jq is missing'
    exit 0
fi

clean() {
    stop_all
    rm -rf "$folder"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# What is printed as JSON is kept, and checked at the end.
wafer() {
    case " $* " in
    *json*)
        # Without a process more: tests that wait for a moment ask often.
        document=$("$top_builddir/wafer" "$@" </dev/null)
        set -- "$?"
        [ -z "$document" ] || {
            printf '%s\n' "$document" >>"$folder/documents/all"
            printf '%s\n' "$document"
        }
        return "$1"
        ;;
    *) "$top_builddir/wafer" "$@" </dev/null ;;
    esac
}

documents_match() {
    set -- "$folder"/documents/*
    [ -e "$1" ] || return 0
    "$top_srcdir/tests/cli/validate.py" "$top_builddir/wafer" "$@" >"$folder/out" 2>"$folder/err" ||
        [ $? -eq 77 ]
    ok "every JSON document matches its schema"
}

# ok NAME, after a command: its status is the result, and $folder/out and err say more.
ok() {
    if [ $? -eq 0 ]; then result=ok; else result="not ok" failed=$((failed + 1)); fi
    number=$((number + 1))
    echo "$result $number - $1"
    [ "$result" = ok ] || for part in out err; do
        [ ! -s "$folder/$part" ] || tail -n 20 "$folder/$part" | sed "s/^/# $part: /"
    done
}

# finish: the plan; also what waferd said, when a test has failed.
finish() {
    documents_match
    echo "1..$number"
    [ "$failed" -eq 0 ] || tail -n 40 "$folder"/*.log | sed 's/^/# /'
    [ "$failed" -eq 0 ]
}

# run STATUS ARGUMENT...: wafer ends with this status; $folder/out and err have what it said.
run() {
    wanted=$1
    shift
    wafer "$@" >"$folder/out" 2>"$folder/err"
    status=$?
    [ "$status" -eq "$wanted" ] || {
        echo "# wafer $*: exit status $status, wanted $wanted"
        return 1
    }
}

out_has() { grep -qF -e "$1" "$folder/out"; }
err_has() { grep -qF -e "$1" "$folder/err"; }

# same A B: two texts are equal, and there is one.
same() {
    [ -n "$1" ] && [ "$1" = "$2" ] || {
        echo "# '$1' is not '$2'"
        return 1
    }
}

# within SECONDS COMMAND...: true as soon as the command is, false after that long.
within() {
    tries=$(($1 * 20))
    shift
    until "$@" 2>/dev/null; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || {
            echo "# waited in vain for: $*"
            return 1
        }
        sleep 0.05
    done
}

# By comparing: jq -e of nothing at all is a success.
answers() { [ "$(wafer -o json system ls | jq .total)" = 6 ]; }

# begin NAME [ARGUMENT...]: waferd --dev in the directory NAME, with what runs it in $daemon.
begin() {
    dir=$folder/$1
    shift
    WAFER_SOCKET=$dir/waferd.sock && export WAFER_SOCKET
    logs=$((logs + 1))
    "$top_builddir/waferd" --dev "$dir" --speed "${speed:-3000}" --seed 7 "$@" \
        >"$folder/$logs.log" 2>&1 </dev/null &
    daemon=$!
    within 20 answers
}

systems_pid() { # of the wafersim of $dir, if there is one
    [ ! -e "$dir/wafersim.pid" ] || cut -d' ' -f1 "$dir/wafersim.pid"
}

# kill_daemon: as a crash would; what it ran goes on.
kill_daemon() {
    kill -9 "$daemon" 2>/dev/null
    wait "$daemon" 2>/dev/null
    daemon=
}

kill_systems() {
    victim=$(systems_pid)
    # By its name too: the number of a process that has ended may be another's by now.
    [ -z "$victim" ] || ! grep -q '^wafersim' "/proc/$victim/comm" 2>/dev/null || kill -9 "$victim"
}

# Nothing that the systems said before they stood still is on its way: two looks see the same.
is_quiet() {
    look=$(wafer events 2>/dev/null) && [ "$look" = "$(wafer events 2>/dev/null)" ]
}

# catch COMMAND...: the systems stand still, and the command is true. A job does not wait for those
# who look at it, so it is asked again when nothing moves; go_on lets them move.
catch() {
    for _ in $(seq 200); do
        within 20 "$@" || return 1
        kill -STOP "$(systems_pid)"
        within 5 is_quiet && "$@" 2>/dev/null && return 0
        go_on
    done
    return 1
}
go_on() { kill -CONT "$(systems_pid)"; }

# site_places: the beginning of a site file with everything below $folder.
site_places() {
    cat <<END
apiVersion: wafer/v1
kind: Site
state_dir: $folder/state
vault_dir: $folder/vault
socket: $folder/waferd.sock
agent_socket: $folder/agent.sock
platforms_dir: $top_srcdir/policies/platforms
speed: 3000
END
}

# stop_all: the daemon, and the systems that it leaves behind; the directory stays.
stop_all() {
    if [ -n "$daemon" ]; then
        kill "$daemon" 2>/dev/null
        wait "$daemon" 2>/dev/null
        daemon=
    fi
    [ -z "$dir" ] || kill_systems
}

# job FILE KEY=VALUE...: the job file that the tests vary: a small model, saved every 300 steps.
job() {
    cat >"$1" <<JOB
apiVersion: wafer/v1
kind: Job
name: $(basename "$1" .yaml)
systems: {count: 1}
limit: 2-0
workload:
  model: {family: gpt, layers: 10, hidden: 768, heads: 12, vocab: 50257, seq: 2048}
  precision: bf16
  batch: 120
  steps: ${2:-3000}
  operators: [attention, layernorm, gelu]
  seed: ${3:-1}
checkpoint:
  every: {steps: ${4:-300}}
  keep: ${5:-{last: 3\}}
retry: {max: 1000, backoff: {first: 1s, max: 5s}}
JOB
}

field() { wafer -o json show "$1" 2>/dev/null | jq -r ".item$2"; }
is() { [ "$(field "$1" "$2")" = "$3" ]; } # is JOB FIELD VALUE
has_reached() { [ "$(field "$1" .progress.step)" -ge "$2" ]; } # has_reached JOB STEP
runs() { is "$1" .state RUNNING; }
submit() { wafer submit -q "$@" 2>>"$folder/err"; } # prints the id
digest() { field "$1" .result.state_digest; }
all_free() { [ "$(wafer -o json system ls | jq '[.items[] | select(.job != null)] | length')" = 0 ]; }
has_event() { wafer events --limit 10000 "$1" 2>/dev/null | grep -q -e "$2"; } # has_event JOB PATTERN
