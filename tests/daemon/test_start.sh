#!/bin/sh
# How waferd starts and ends: what it says, and with which exit status. Prints TAP.
: "${top_builddir:=.}"
waferd=$top_builddir/waferd
dir=$(mktemp -d /tmp/waferd-test.XXXXXX) || exit 99
number=0
pid=

end() {
    [ -z "$pid" ] || kill -9 "$pid" 2>/dev/null
    rm -rf "$dir"
}
trap end EXIT

platform() {
    cat <<EOF
apiVersion: wafer/v1
kind: Platform
name: $1
target: wafer
rate: {peak_pflops: 62.5, realised_fraction: 0.4, realised_fraction_small: 0.1, per_layer_ms: 0.1,
       weights_gb_per_s: 0, scaling_efficiency: 0.9}
phases: {compile: {min: 1m, max: 2m}, compile_cached: {min: 1s, max: 2s}, start: {min: 1s, max: 2s},
         program: {min: 1s, max: 2s}, weights_floor: 1s, weights_s_per_1e9: 1, save_s_per_1e9: 1,
         evaluate_fraction: 0.1, cleanup: 1s}
faults: {mtbf: 100d}
price_per_hour: "18.00 EUR"
EOF
}

# site NAME [LINE...]: a site file for the directory NAME, with lines of its own at the end.
site() {
    name=$1
    shift
    cat <<EOF
apiVersion: wafer/v1
kind: Site
state_dir: $dir/$name
vault_dir: $dir/$name.vault
socket: $dir/$name.sock
agent_socket: $dir/$name.agent
platforms_dir: $dir
pools: [{name: wafer, platform: cs3}]
EOF
    for line; do echo "$line"; done
}

ok() { # ok TEST-RESULT NAME
    number=$((number + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $number - $2"
    else
        echo "not ok $number - $2"
        sed 's/^/# /' "$dir/out"
    fi
}

# ends STATUS TEXT NAME ARGUMENT...: waferd with these arguments ends so and says so.
ends() {
    status=$1 text=$2 name=$3
    shift 3
    timeout 10 "$waferd" "$@" >"$dir/out" 2>&1
    got=$?
    [ "$got" -eq "$status" ] && { [ -z "$text" ] || grep -q -e "$text" "$dir/out"; }
    result=$?
    [ "$result" -eq 0 ] || echo "# exit status $got, wanted $status and '$text'"
    ok "$result" "$name"
}

# start NAME: runs until it is told to end.
start() {
    : >"$dir/out" # or the last one's "is ready" would be taken for this one's
    "$waferd" --config "$dir/$1.yaml" >"$dir/out" 2>&1 &
    pid=$!
    for _ in $(seq 100); do
        grep -q 'is ready' "$dir/out" && return 0
        kill -0 "$pid" 2>/dev/null || return 1
        sleep 0.05
    done
    return 1
}

stop() { # stop SIGNAL: its exit status
    kill "-$1" "$pid"
    wait "$pid"
    set -- $?
    pid=
    return "$1"
}

platform cs3 >"$dir/cs3.yaml"
for name in good busy broken nowhere taken; do site "$name" >"$dir/$name.yaml"; done
site slow 'speed: 0' >"$dir/slow.yaml"
site long "lease: 15s" | sed "s,^socket: .*,socket: /$(printf '%0120d' 0)," >"$dir/long.yaml"
sed 's/platform: cs3/platform: cs9/' "$dir/good.yaml" >"$dir/unknown.yaml"
sed "s,^state_dir: .*,state_dir: $dir/not/there," "$dir/nowhere.yaml" >"$dir/nowhere2.yaml"

ends 0 '^waferd [0-9]' 'the version is told' --version
ends 0 '--check-config' 'help is given' --help
ends 64 'did you mean --config' 'an unknown option is a usage error with the nearest' --confg
ends 78 'cannot be read: No such file' 'a site file that is missing is named' --config "$dir/none.yaml"
ends 0 '' 'a good site file is found good' --config "$dir/good.yaml" --check-config
[ ! -e "$dir/good" ]
ok $? 'checking it creates nothing'
ends 78 'slow.yaml:9:8: speed: ' 'a mistake is named with its place' --check-config --config "$dir/slow.yaml"
ends 78 'slow.yaml:9:8: speed: ' 'and is no less one when starting' --config "$dir/slow.yaml"
ends 78 'cs9.yaml: it cannot be read' 'a platform file that is missing is named' --config "$dir/unknown.yaml"
ends 78 'at most 107 fit' 'a socket path that is too long says how long it may be' --config "$dir/long.yaml"
mkdir "$dir/$(printf '%0120d' 0)"
ends 73 'at most 107 fit' 'and one below --dev is a directory that cannot be used' --dev "$dir/$(printf '%0120d' 0)"
ends 73 'not/there cannot be created' 'a state directory that cannot be made is named' --config "$dir/nowhere2.yaml"

mkdir "$dir/broken"
head -c 20000 /dev/zero | tr '\0' x >"$dir/broken/state.db"
cp "$dir/broken/state.db" "$dir/before"
ends 74 'state.db is damaged' 'a corrupt database ends it' --config "$dir/broken.yaml"
cmp -s "$dir/broken/state.db" "$dir/before"
ok $? 'and is left as it was'

: >"$dir/taken.sock"
ends 73 'is no socket' 'a file in the place of the socket is not removed' --config "$dir/taken.yaml"

for name in lock state.db wafersim.pid wafersim.log; do
    mkdir -m 700 "$dir/odd.$name"
    mkfifo "$dir/odd.$name/$name"
done
ends 73 'lock cannot be' 'a pipe in the place of the lock is named' --dev "$dir/odd.lock"
ends 74 'state.db: ' 'and in that of the database' --dev "$dir/odd.state.db"
for name in wafersim.pid wafersim.log; do
    "$waferd" --dev "$dir/odd.$name" >"$dir/out" 2>&1 &
    pid=$!
    for _ in $(seq 100); do
        grep -q 'is ready' "$dir/out" && break
        sleep 0.05
    done
    grep -q 'is ready' "$dir/out"
    ready=$?
    ok "$ready" "and in that of $name does not stop it"
    if [ "$ready" -eq 0 ]; then kill "$pid"; else kill -9 "$pid"; fi
    wait "$pid"
    pid=
done

start busy
ok $? 'it starts'
ends 75 "in use by process $pid" 'a second one on the same directory is told who has it' --config "$dir/busy.yaml"
stop TERM
ok $? 'SIGTERM ends it with status 0'
[ ! -e "$dir/busy.sock" ] && [ ! -e "$dir/busy.agent" ]
ok $? 'and its sockets are gone'
start busy && stop KILL
[ -S "$dir/busy.sock" ]
ok $? 'after a kill -9 the socket is left'
start busy
ok $? 'and the next one takes its place'
stop INT
ok $? 'SIGINT ends it with status 0'

# says TEXT: the log has it, soon.
says() {
    for _ in $(seq 100); do
        grep -q -e "$1" "$dir/out" && return 0
        sleep 0.05
    done
    return 1
}

site busy 'snapshot_every: 2000' 'lease: 20s' >"$dir/busy.yaml"
start busy
site busy 'snapshot_every: 3000' 'lease: 30s' >"$dir/busy.yaml"
sed -i 's/mtbf: 100d/mtbf: 200d/' "$dir/cs3.yaml"
kill -HUP "$pid"
says 'reload: snapshot_every: 2000 -> 3000$'
ok $? 'SIGHUP reads the site file again and says what has changed'
says 'reload: lease: 20s -> 30s; this waits for a restart'
ok $? 'and what waits for a restart'
says 'reload: platform cs3: its file has changed; this waits for a restart'
ok $? 'a platform file too'
site busy 'snapshot_every: 1' 'lease: 1h' >"$dir/busy.yaml"
kill -HUP "$pid"
says 'reload: .*busy.yaml:9:17: snapshot_every: ' && says 'reload: .*busy.yaml:10:8: lease: '
ok $? 'all mistakes are told'
says 'reload: nothing of .*busy.yaml is applied'
ok $? 'and nothing is applied'
site busy 'snapshot_every: 2000' 'lease: 20s' >"$dir/busy.yaml"
sed -i 's/mtbf: 200d/mtbf: 100d/' "$dir/cs3.yaml"
kill -HUP "$pid"
says 'reload: snapshot_every: 3000 -> 2000$'
ok $? 'what is compared is what runs, not what was refused'
kill -HUP "$pid"
says 'reload: nothing has changed'
ok $? 'the same file again changes nothing'
stop TERM
ok $? 'and it ends as ever'

if command -v systemd-socket-activate >/dev/null; then
    # handed STATUS TEXT NAME SOCKET-OPTION...: what waferd makes of the sockets that it is given.
    handed() {
        status=$1 text=$2 name=$3
        shift 3
        systemd-socket-activate "$@" "$waferd" --config "$dir/busy.yaml" >"$dir/out" 2>&1 &
        pid=$!
        # A socket is there a moment before somebody listens at it.
        for _ in $(seq 100); do
            WAFER_SOCKET=$dir/first.sock "$top_builddir/wafer" --timeout 1s ls >/dev/null 2>&1
            ! grep -q -e "$text" "$dir/out" || break
            sleep 0.05
        done
        says "$text"
        result=$?
        [ "$status" -gt 0 ] || kill "$pid"
        wait "$pid"
        [ $? -eq "$status" ] && [ "$result" -eq 0 ]
        ok $? "$name"
        pid=
        rm -f "$dir"/*.sock
    }
    site busy >"$dir/busy.yaml"
    sed -i "s,^socket: .*,socket: $dir/first.sock," "$dir/busy.yaml"
    handed 0 "is ready: clients at $dir/first.sock" 'it serves the socket that it is handed' \
        -l "$dir/first.sock" --fdname=clients
    handed 78 "socket named 'agents'" 'a socket of another name is refused' \
        -l "$dir/first.sock" --fdname=agents
    handed 78 'hands over 2 sockets' 'and more than one' \
        -l "$dir/first.sock" -l "$dir/second.sock" --fdname=clients:clients
    sed -i "s,^socket: .*,socket: $dir/third.sock," "$dir/busy.yaml"
    handed 78 "listens at $dir/first.sock, and the site file says $dir/third.sock" 'and one at another place' \
        -l "$dir/first.sock" --fdname=clients
fi
echo "1..$number"
