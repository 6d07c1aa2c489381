#!/bin/sh
# waferd and wafersim as services of a real systemd: who may connect, and that nothing that happens to
# the controller reaches the jobs. Prints TAP.
# shellcheck source=tests/service/lib.sh
. "${top_srcdir:-.}/tests/service/lib.sh"
grep -q __asan_init "$top_builddir/waferd" && skip_all 'sanitizers do not run in the sandbox of the units'

box_make
units=$(configured systemdsystemunitdir)
site=$(configured sysconfdir)/waferd/waferd.yaml
wafer=$(configured bindir)/wafer
[ "$units" != no ] || skip_all 'configured without units'
box_install
cp "$root$units"/wafer* "$root/etc/systemd/system/" # wherever they are, systemd finds them here
mkdir -p "$root/etc/systemd/system/waferd.service.d"
# What takes seconds by intention takes less here, and cluster time is fast.
cat >"$root/etc/systemd/system/waferd.service.d/test.conf" <<'UNIT'
[Service]
WatchdogSec=1s
RestartSec=100ms
UNIT
echo 'speed: 600' >>"$root$site"
cp "$root$site" "$folder/site"
for name in alice bob; do
    useradd --root "$root" --no-create-home --shell /bin/sh "$name" >"$folder/out" 2>&1
done
systemd-sysusers --root="$root" "$top_srcdir/systemd/sysusers.d/waferd.conf" >"$folder/out" 2>&1
usermod --root "$root" -a -G wafer alice
cat >"$root/job.yaml" <<'JOB'
apiVersion: wafer/v1
kind: Job
name: long
systems: {count: 1}
limit: 20-0
workload:
  model: {family: gpt, layers: 10, hidden: 768, heads: 12, vocab: 50257, seq: 2048}
  precision: bf16
  batch: 120
  steps: 40000
  operators: [attention, layernorm, gelu]
checkpoint: {every: {steps: 2000}}
JOB
chmod 644 "$root/job.yaml"
box_boot

wafer() { inside "$wafer" "$@" 2>&1; }
property() { inside systemctl show -P "$2" "$1"; } # property UNIT NAME
pid() { property waferd MainPID; }
field() { wafer -o json show "$1" | jq -r ".item$2"; } # field JOB PATH
step() { field "$job" .progress.step; }
runs_on() { # the job is as it was before, and proceeds
    wafer system ls >/dev/null
    before=$(step)
    within 10 proceeds && same "$(field "$job" .state)/$(field "$job" .attempt)" RUNNING/1
}
proceeds() { [ "$(step)" -gt "$before" ]; }
runs() { [ "$(field "$job" .state)" = RUNNING ]; }
resumed() { [ "$(field "$job" .state)/$(field "$job" .attempt)" = RUNNING/2 ] && [ "$(step)" -gt 2000 ]; }
status_is() { [ "$(property waferd StatusText)" = "$1" ]; }
is_active() { inside systemctl is-active --quiet "$1"; }
journal_has() { inside journalctl --no-pager -q -o cat "$@" | grep -q -e "$text"; }
systems_are_up() { [ "$(wafer -o json system ls | jq '[.items[] | select(.state == "UP")] | length')" = 6 ]; }
another_pid() { [ "$(pid)" != 0 ] && [ "$(pid)" != "$old" ] && is_active waferd; }
put_site() { cat >"$root$site"; }

# ---- the files ----

inside systemd-analyze verify waferd.service waferd.socket wafersim@local.service wafersim.slice \
    >"$folder/out" 2>&1 && [ ! -s "$folder/out" ]
ok 'systemd finds nothing wrong with the units'
for unit in waferd.service wafersim@.service; do
    systemd-analyze security --offline=true --threshold=15 --no-pager "$root$units/$unit" >"$folder/out" 2>&1
    ok "the exposure of $unit is 1.5 or less"
done
! grep -q '^PrivateUsers' "$root$units/waferd.service"
ok 'and waferd sees the users of the machine'

# ---- who may connect, and the first who does starts it ----

inside systemctl start waferd.socket
is_active waferd.socket && ! is_active waferd.service
ok 'the socket alone listens'
same "$(inside stat -c '%U:%G %a' /run/waferd/waferd.sock)" 'waferd:wafer 660'
ok 'to the group wafer'
as alice "$wafer" system ls >"$folder/out" 2>&1 && is_active waferd.service
ok 'the first connection starts waferd and is answered'
as bob "$wafer" system ls >"$folder/out" 2>&1
same "$?" 77 && grep -q 'may not connect' "$folder/out"
ok 'who is not of the group cannot connect'
same "$(inside stat -c '%U %a' /var/lib/waferd /var/lib/waferd/vault /run/waferd | tr '\n' ' ')" \
    'waferd 700 waferd 700 waferd 755 '
ok 'state and vault are closed to others'
inside systemctl start wafersim@local && within 5 systems_are_up
ok 'the systems of the site come up'
same "$(property wafersim@local ControlGroup)" /wafersim.slice/wafersim@local.service
ok 'in a slice of their own'

# ---- a job of a real user ----

job=$(as alice "$wafer" submit -q /job.yaml 2>"$folder/out")
within 10 runs && same "$(field "$job" .user)/$(field "$job" .uid)" "alice/$(inside id -u alice)"
ok 'a job runs, and belongs to who handed it in'
for program in waferd wafersim; do
    text=. && within 5 journal_has "SYSLOG_IDENTIFIER=$program" JOB_ID="$job" ATTEMPT=1
    ok "the journal finds by job and attempt what $program says"
done
text='JOB_STARTED' && within 5 journal_has JOB_ID="$job" && ! journal_has JOB_ID=4711
ok 'and nothing of other jobs'

# ---- reload ----

old=$(pid)
{ cat "$folder/site" && echo 'snapshot_every: 5000'; } | put_site
inside systemctl reload waferd >"$folder/out" 2>&1
ok 'a reload of a good site file succeeds'
text='reload: snapshot_every: default -> 5000' && within 5 journal_has -u waferd && same "$(pid)" "$old"
ok 'the log says what has changed, and nothing was started'
{ cat "$folder/site" && printf 'snapshot_every: 5000\nlease: 20s\n'; } | put_site
inside systemctl reload waferd
text='reload: lease: default -> 20s; this waits for a restart' && within 5 journal_has -u waferd
ok 'what cannot change while it runs is named'
same "$(property waferd StatusText)" 'serving; 1 setting waits for a restart'
ok 'the status says so too'
{ cat "$folder/site" && printf 'snapshot_every: 2\nlease: 1ms\n'; } | put_site
! inside systemctl reload waferd >"$folder/out" 2>&1 && same "$(pid)" "$old" && is_active waferd
ok 'a reload of a bad one fails and disturbs nobody'
inside systemctl kill -s HUP --kill-whom=main waferd
text='reload: nothing of .* is applied' && within 5 journal_has -u waferd
ok 'also without asking first'
property waferd StatusText >"$folder/out" && grep -q 'old settings; the new ones are wrong: .*yaml:[0-9:]* lease' "$folder/out"
ok 'and the status names the mistake with its place'
put_site <"$folder/site"
inside systemctl reload waferd && within 5 status_is serving
ok 'the file as it was is good again'
runs_on
ok 'the job ran on'

# ---- a webhook, with a secret that only root can read ----

mkdir "$folder/got"
"$top_builddir/tests/notify/receiver_main" "$folder/got" >"$folder/port" &
receiver=$!
trap 'kill "$receiver"; box_end' EXIT
within 5 test -s "$folder/port"
hook() { echo "webhooks: [{name: ops, url: 'http://127.0.0.1:$(cat "$folder/port")/ok/$1', on: [CANCELLED], secret: ops-hook}]"; }
# is_told PATH: of a job that is cancelled, with a signature.
is_told() {
    id=$(as alice "$wafer" submit -q --hold /job.yaml) && wafer cancel "$id" >"$folder/out" &&
        within 5 grep -rlq "^POST /ok/$1 " "$folder/got" && grep -rq '^webhook-signature: v1,' "$folder/got"
}
inside sh -c 'umask 077; echo whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw >/etc/ops-hook'
{ cat "$folder/site" && hook first; } | put_site
inside systemctl reload waferd >"$folder/out" 2>&1
text="reload: .*credential 'ops-hook', and this process has none" && within 5 journal_has -u waferd
ok 'a credential that the unit does not load yet: the reload is refused'
printf '[Service]\nLoadCredential=ops-hook:/etc/ops-hook\n' >"$root/etc/systemd/system/waferd.service.d/ops-hook.conf"
inside systemctl daemon-reload && inside systemctl restart waferd >"$folder/out" 2>&1 && is_told first
ok 'with LoadCredential= the webhook is told, and the notification is signed'
rm -rf "$folder/got"/*
{ cat "$folder/site" && hook second; } | put_site
inside systemctl reload waferd >"$folder/out" 2>&1 && is_told second
ok 'another address takes effect by a reload'
rm "$root/etc/systemd/system/waferd.service.d/ops-hook.conf"
put_site <"$folder/site"
inside systemctl daemon-reload && inside systemctl restart waferd
runs_on
ok 'and the job ran on'

# ---- the controller goes and comes ----

systems=$(property wafersim@local MainPID)
inside systemctl stop waferd 2>"$folder/out"
! is_active waferd && is_active wafersim@local && is_active waferd.socket
ok 'a stop ends waferd alone'
runs_on
ok 'the next connection starts it, and the job runs on'
old=$(pid)
inside kill -9 "$old"
within 10 another_pid && runs_on
ok 'after a kill -9 it comes back by itself, and the job runs on'
old=$(pid)
inside kill -STOP "$old"
within 15 another_pid && text='Watchdog timeout' && within 5 journal_has -u waferd && runs_on
ok 'the watchdog ends one that hangs, and the job runs on'

# Another program in the same place, as a package would put it there.
binary=$(inside readlink "/proc/$(pid)/exe")
cp -p "$root$binary" "$root$binary.new" && echo another >>"$root$binary.new" && mv "$root$binary.new" "$root$binary"
inside systemctl restart waferd && inside cmp "/proc/$(pid)/exe" "$binary" && runs_on
ok 'a new program takes over what the old one ran'
same "$(property wafersim@local MainPID)/$(property wafersim@local NRestarts)" "$systems/0"
ok 'all the while the systems were one process'

# ---- the systems go and come ----

inside kill -9 "$systems"
within 20 resumed
ok 'after a kill -9 the systems come back by themselves, and the job goes on from its checkpoint'

# ---- what cannot start ----

inside systemctl stop waferd 2>"$folder/out"
{ cat "$folder/site" && echo 'lease: 1ms'; } | put_site
! inside systemctl start waferd >"$folder/out" 2>&1 && same "$(property waferd ExecMainStatus)/$(property waferd NRestarts)" 78/0
ok 'a bad site file is status 78, and not tried again'
wafer --timeout 20s system ls >"$folder/out" 2>&1
same "$?" 69
ok 'a client does not wait for ever'
put_site <"$folder/site"
inside systemctl reset-failed waferd.service waferd.socket
inside systemctl start waferd >"$folder/out" 2>&1 && wafer system ls >"$folder/out"
ok 'with the file put right it starts'
inside systemctl stop waferd.socket waferd.service
sed 's,^socket: .*,socket: /run/waferd/other.sock,' "$folder/site" | put_site
inside systemctl start waferd >"$folder/out" 2>&1
same "$(property waferd ExecMainStatus)" 78
ok 'a socket that is not that of the site file is status 78'
text='listens at /run/waferd/waferd.sock, and the site file says /run/waferd/other.sock' && within 5 journal_has -u waferd
ok 'and both places are named'
finish
