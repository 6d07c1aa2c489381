#!/bin/sh
# The Debian packages: package.sh DIR, where `make deb` has put them. Lint, install, use, upgrade,
# remove and purge, in a machine of their own. Prints TAP.
# shellcheck source=tests/service/lib.sh
. "${top_srcdir:-$(dirname "$0")/../..}/tests/service/lib.sh"
packages=$(realpath "${1:-packages}")
ls "$packages"/waferd_*.deb "$packages"/wafer_*.deb >/dev/null || exit 99

box_make
rm -f "$root/usr/sbin/policy-rc.d" # as an image for containers has it: there, nothing is to be started
mkdir "$root/packages"
cp "$packages"/waferd_*.deb "$packages"/wafer_*.deb "$root/packages/"
box_boot

# dpkg ARGUMENT...: quietly, as far as it goes well.
dpkg() { inside env DEBIAN_FRONTEND=noninteractive dpkg "$@" >"$folder/out" 2>&1; }
put_packages() { # shellcheck disable=SC2016 # for the inner shell
    inside sh -c 'cd /packages && DEBIAN_FRONTEND=noninteractive dpkg --force-confold -i ./*.deb' >"$folder/out" 2>&1
}
wafer() { inside wafer "$@" 2>>"$folder/out"; }
property() { inside systemctl show -P "$2" "$1"; }
is_active() { inside systemctl is-active --quiet "$1"; }
systems_are_up() { [ "$(wafer -o json system ls | jq '[.items[] | select(.state == "UP")] | length')" = 6 ]; }
state() { wafer -o json show 1 | jq -r '"\(.item.state)/\(.item.attempt)"'; }
runs() { [ "$(state)" = RUNNING/1 ]; }
state_is_later() { case $(state) in RUNNING/[2-9]) ;; *) false ;; esac; }
leftovers() { inside find /etc /lib/systemd /run /usr/bin /usr/lib /usr/sbin /usr/share /var -xdev -iname '*wafer*' | sort; }

lintian --allow-root --fail-on error,warning "$packages"/*.changes >"$folder/out" 2>&1
ok 'lintian finds nothing wrong'

leftovers >"$folder/before"
put_packages
ok 'the packages install'
[ "$failed" -eq 0 ] || finish || exit 1
is_active waferd.socket && is_active waferd.service
ok 'and the controller runs'
same "$(inside systemctl is-enabled waferd.service waferd.socket | tr '\n' ' ')" 'enabled enabled '
ok 'also after the next boot'
# shellcheck disable=SC2016 # for dpkg-query
inside dpkg-query -W -f '${Conffiles}' waferd >"$folder/out"
same "$(grep -c ' /etc/waferd/' "$folder/out")" "$(inside find /etc/waferd -type f | wc -l)"
ok 'what is below /etc/waferd belongs to the operator'
# shellcheck disable=SC2016 # for dpkg-query
same "$(inside dpkg-query -W -f '${Version}' waferd)" "$(inside waferd --version | cut -d' ' -f2)"
ok 'the version is that of the program'
inside systemctl enable --now wafersim@local >"$folder/out" 2>&1 && within 10 systems_are_up
ok 'the systems start'
inside useradd --no-create-home alice && inside usermod -a -G wafer alice &&
    as alice wafer submit -q /usr/share/doc/wafer/examples/cerebras-gpt-111m.yaml >"$folder/out" 2>&1 && within 10 runs
ok 'a member of the group wafer hands in an example'

controller=$(property waferd MainPID)
systems=$(property wafersim@local MainPID)
socket=$(inside stat -c %i /run/waferd/waferd.sock)
echo '# an operator was here' >>"$root/etc/waferd/waferd.yaml"
put_packages && is_active waferd && [ "$(property waferd MainPID)" != "$controller" ]
ok 'an upgrade restarts the controller'
same "$(property wafersim@local MainPID)/$(inside stat -c %i /run/waferd/waferd.sock)" "$systems/$socket"
ok 'and neither the systems nor the socket'
within 10 runs
ok 'so that the job runs on'
inside grep -q 'an operator was here' /etc/waferd/waferd.yaml
ok 'the site file is as the operator left it'

dpkg -r waferd && ! is_active waferd && ! is_active waferd.socket && ! is_active wafersim@local
ok 'without the package, nothing runs'
[ -e "$root/var/lib/waferd/state.db" ] && [ -e "$root/etc/waferd/waferd.yaml" ]
ok 'but nothing is lost'
put_packages && within 10 is_active waferd && inside systemctl start wafersim@local && within 20 state_is_later
ok 'installed again, the job goes on'
dpkg -P waferd wafer
ok 'a purge succeeds'
leftovers >"$folder/out"
cmp -s "$folder/before" "$folder/out"
ok 'and leaves nothing'
finish
