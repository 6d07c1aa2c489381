# lib.sh - sourced by the tests of the service: TAP, and a machine of its own with systemd as its first
# process, booted in a container on a writable layer over this machine's files. What is written in
# there goes with it. A test ends only processes whose id it knows.
# shellcheck shell=sh disable=SC1007
set -u
: "${top_builddir:=.}" "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}"
LC_ALL=C.UTF-8 TZ=UTC COLUMNS=100 TERM=dumb
export LC_ALL TZ COLUMNS TERM
unset NO_COLOR WAFER_SERVER WAFER_SOCKET WAFER_OUTPUT WAFER_TZ
number=0
failed=0
folder= cgroup= nspawn= leader=

skip_all() {
    echo "1..0 # SKIP $1"
    exit 0
}

# ok NAME, after a command: its status is the result, and $folder/out says more.
ok() {
    if [ $? -eq 0 ]; then result=ok; else result="not ok" failed=$((failed + 1)); fi
    number=$((number + 1))
    echo "$result $number - $1"
    [ "$result" = ok ] || [ ! -s "$folder/out" ] || tail -n 20 "$folder/out" | sed 's/^/# /'
}

# finish: the plan; also what the journal has, when a test has failed.
finish() {
    echo "1..$number"
    [ "$failed" -eq 0 ] || inside journalctl --no-pager -n 80 | sed 's/^/# /'
    [ "$failed" -eq 0 ]
}

# within SECONDS COMMAND...: true as soon as the command is, false after that long.
within() {
    tries=$(($1 * 20))
    shift
    until "$@" >/dev/null 2>&1; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || {
            echo "# waited in vain for: $*"
            return 1
        }
        sleep 0.05
    done
}

same() {
    [ -n "$1" ] && [ "$1" = "$2" ] || {
        echo "# '$1' is not '$2'"
        return 1
    }
}

# ---- the machine ----

# box_make: the layer, below $root; nothing runs yet. Skips the test where that cannot be done.
box_make() {
    [ "$(id -u)" -eq 0 ] || skip_all 'only root can boot a container'
    for tool in systemd-nspawn dbus-daemon nsenter setpriv pgrep jq; do
        command -v "$tool" >/dev/null || skip_all "$tool is missing"
    done
    folder=$(mktemp -d /tmp/wafer-box.XXXXXX) || exit 99
    root=$folder/root
    trap box_end EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    mkdir "$folder/layer" "$root"
    mount -t tmpfs -o mode=755 wafer-box "$folder/layer" 2>/dev/null || skip_all 'mount is not allowed'
    mkdir "$folder/layer/upper" "$folder/layer/work"
    mount -t overlay wafer-box "$root" 2>/dev/null \
        -o "lowerdir=/,upperdir=$folder/layer/upper,workdir=$folder/layer/work" ||
        skip_all 'no file system can be laid over this one'
    box_settle
}

# An identity of its own, and none of the services of this machine.
box_settle() {
    : >"$root/etc/machine-id"
    rm -f "$root/var/lib/dbus/machine-id"
    echo box >"$root/etc/hostname"
    : >"$root/etc/fstab"
    rm -rf "$root/var/log/journal"
    mkdir -p "$root/etc/systemd/system" "$root/etc/systemd/journald.conf.d" "$root/etc/tmpfiles.d"
    : >"$root/etc/tmpfiles.d/tmp.conf" # what is below /tmp stays
    printf '[Journal]\nStorage=volatile\nRateLimitIntervalSec=0\n' >"$root/etc/systemd/journald.conf.d/box.conf"
    cat >"$root/etc/systemd/system/box.target" <<'UNIT'
[Unit]
Requires=sysinit.target
Wants=sockets.target dbus.service
After=sysinit.target sockets.target dbus.service
UNIT
}

# box_boot: until systemd is up. A cgroup of its own, or two machines would share one.
box_boot() {
    cgroup=/sys/fs/cgroup
    [ -e "$cgroup/cgroup.procs" ] || cgroup=$cgroup/unified
    cgroup=$cgroup/wafer-box-$$
    mkdir "$cgroup" 2>/dev/null || skip_all 'no cgroup can be made'
    # shellcheck disable=SC2016 # for the inner shell
    SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 setsid sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$cgroup" \
        systemd-nspawn --quiet --register=no --keep-unit --machine="wafer-box-$$" --directory="$root" \
        --console=pipe --boot -- systemd.unit=box.target </dev/null >"$folder/console" 2>&1 &
    nspawn=$!
    within 15 box_is_up || {
        sed 's/^/# /' "$folder/console"
        skip_all 'no container boots here'
    }
}

box_is_up() {
    leader=$(pgrep -n -P "$nspawn") && inside systemctl is-active --quiet box.target
}

# inside COMMAND...: as root of the machine.
inside() {
    nsenter --target "$leader" --mount --uts --ipc --pid --net --cgroup --wdns=/ \
        env -u XDG_RUNTIME_DIR -u DBUS_SESSION_BUS_ADDRESS "$@" </dev/null
}

# as USER COMMAND...
as() {
    user=$1
    shift
    inside setpriv --reuid "$user" --regid "$user" --init-groups "$@"
}

box_end() {
    if [ -n "$nspawn" ]; then
        kill "$nspawn" 2>/dev/null # an orderly end, and then the other one
        within 10 box_has_ended || kill -9 "$nspawn" 2>/dev/null
        wait "$nspawn" 2>/dev/null
    fi
    [ -z "$folder" ] || for part in root layer; do
        mountpoint -q "$folder/$part" || continue
        umount "$folder/$part" 2>/dev/null || umount -l "$folder/$part"
    done
    [ ! -d "$cgroup" ] || find "$cgroup" -depth -type d -exec rmdir {} + 2>/dev/null
    [ -z "$folder" ] || rm -rf --one-file-system "$folder"
}

# box_install: what was built, as `make install` would.
box_install() {
    env -u MAKEFLAGS -u MAKELEVEL make -s -C "$top_builddir" install DESTDIR="$root" >"$folder/out" 2>&1 || {
        sed 's/^/# /' "$folder/out"
        echo 'Bail out! it cannot be installed'
        exit 99
    }
}

# configured NAME: a directory, as configure was told.
configured() {
    # shellcheck disable=SC2016 # for the inner make
    printf 'include Makefile\nconfigured:\n\t@echo $(%s)\n' "$1" |
        env -u MAKEFLAGS -u MAKELEVEL make -s -C "$top_builddir" -f - configured
}

box_has_ended() { ! kill -0 "$nspawn"; }
