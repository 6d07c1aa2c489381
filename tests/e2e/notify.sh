#!/bin/sh
# Notifications, from the site file and the job file to what a receiver gets, also a bad one.
# shellcheck disable=SC1007,SC1091,SC2154,SC2034,SC2015,SC2181 # lib.sh has what is missing here, and uses the rest
. "${top_srcdir:=$(dirname "$0")/../..}/tests/e2e/lib.sh"
receivers= systems=

stop_site() {
    for process in $daemon $systems $receivers; do kill -9 "$process" 2>/dev/null && wait "$process" 2>/dev/null; done
    daemon= systems= receivers=
}
trap 'stop_site; rm -rf "$folder"' EXIT

site=$folder/site.yaml
WAFER_SOCKET=$folder/waferd.sock && export WAFER_SOCKET
unset http_proxy https_proxy CREDENTIALS_DIRECTORY
umask 077
for name in got hung; do
    mkdir "$folder/$name"
    "$top_builddir/tests/notify/receiver_main" "$folder/$name" >"$folder/$name.port" &
    receivers="$receivers $!"
    within 5 test -s "$folder/$name.port"
done
port=$(cat "$folder/got.port")
echo whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw >"$folder/secret"
tls_port=1 # of a server whose certificate nobody vouches for
if command -v openssl >/dev/null 2>&1; then
    openssl req -x509 -newkey rsa:2048 -nodes -keyout "$folder/key" -out "$folder/certificate" -days 2 \
        -subj /CN=localhost >"$folder/openssl" 2>&1
    openssl s_server -www -accept 127.0.0.1:0 -key "$folder/key" -cert "$folder/certificate" \
        >"$folder/tls" 2>&1 </dev/null &
    receivers="$receivers $!"
    within 5 grep -q '^ACCEPT' "$folder/tls" && tls_port=$(sed -n 's/^ACCEPT .*:\([0-9]*\)$/\1/p' "$folder/tls")
fi
site_places >"$site"
cat >>"$site" <<SITE
pools: [{name: wafer, platform: cs3}]
webhooks:
  - {name: ops, url: "http://127.0.0.1:$port/ok/ops", secret: $folder/secret}
  - {name: all, url: "http://127.0.0.1:$port/ok/all", on: [TIMEOUT]}
  - {name: slow, url: "http://127.0.0.1:$(cat "$folder/hung.port")/hang"}
  - {name: nlp, url: "http://127.0.0.1:$port/fail/1/nlp"}
  - {name: dead, url: "http://127.0.0.1:1/"}
  - {name: tls, url: "https://localhost:$tls_port/"}
notify_allow: ["http://127.0.0.1:$port/ok/teams"]
SITE

begin_site() {
    logs=$((logs + 1))
    "$top_builddir/waferd" --config "$site" >"$folder/$logs.log" 2>&1 </dev/null &
    daemon=$!
    within 10 wafer system ls >/dev/null
}

got() { grep -l "^POST $1 " "$folder/got/"* "$folder/hung/"* 2>/dev/null; } # the requests for this path
has_got() { [ "$(got "$1" | wc -l)" -ge "$2" ]; }
body() { sed '1,/^\r$/d' "$1"; }
header() { sed -n "s/^$2: \(.*\)\r$/\1/p" "$1"; }
say_event() { wafer events "$1" 2>/dev/null | grep -q -e "$2"; }

begin_site
ok 'the controller starts with webhooks in its site file'

job "$folder/a.yaml" && echo 'notify: [{on: [CANCELLED], to: ops}]' >>"$folder/a.yaml"
id=$(submit --hold "$folder/a.yaml") && run 0 cancel "$id" && within 5 has_got /ok/ops 1
ok 'a job that was cancelled is told to the webhook that it names'
file=$(got /ok/ops)
body "$file" >"$folder/out"
jq -e --argjson id "$id" '.schema == "wafer.notification/v1" and .event == "CANCELLED" and .job.id == $id and
    .job.state == "CANCELLED" and .job.name == "a" and (.at | test("Z$"))' "$folder/out" >/dev/null
ok 'with the event and the job as it is shown'
same "$(jq -r .id "$folder/out")" "$(header "$file" webhook-id)" && header "$file" webhook-signature | grep -q '^v1,.\{44\}$'
ok 'with an id and a signature'
within 5 say_event "$id" 'NOTIFY_DELIVERED.*CANCELLED to ops'
ok 'and the events of the job say so'

job "$folder/team.yaml" && echo "notify: [{on: [CANCELLED], to: 'http://127.0.0.1:$port/ok/teams/7?token=s3cr3t'}]" >>"$folder/team.yaml"
id=$(submit --hold "$folder/team.yaml") && run 0 cancel "$id" && within 5 has_got '/ok/teams/7?token=s3cr3t' 1 &&
    within 5 say_event "$id" 'NOTIFY_DELIVERED'
ok 'an address that the site allows is told too'
file=$(got '/ok/teams/7?token=s3cr3t')
[ -z "$(header "$file" webhook-signature)" ] && ! body "$file" | grep -q s3cr3t &&
    ! wafer events "$id" | grep -q s3cr3t && ! grep -q s3cr3t "$folder"/*.log
ok 'without a signature; and its path is nowhere else'

refused() { # refused ADDRESS NAME
    job "$folder/bad.yaml" && echo "notify: [{on: [FAILED], to: ops}, {on: [FAILED], to: '$1'}]" >>"$folder/bad.yaml"
    run 65 submit "$folder/bad.yaml" && err_has 'notify[1].to'
    ok "$2 is refused with 65, and the field is named"
}
refused nobody 'a webhook that there is not'
refused "http://127.0.0.1:$port/ok/other" 'another path of a host that is allowed'
refused "http://127.0.0.1:1/ok/teams" 'another port of it'
refused "http://localhost:$port/ok/teams" 'another name for it'
job "$folder/bad.yaml" && echo "notify: [{on: [FAILED], to: 'http://127.0.0.1:$port@evil.example/ok/teams'}]" >>"$folder/bad.yaml"
run 65 submit "$folder/bad.yaml" && err_has 'bad.yaml:17:29: ' && err_has 'user name'
ok 'so is a user name in the address, with its place'
job "$folder/bad.yaml" && echo "notify: [{on: [FALED], to: ops}]" >>"$folder/bad.yaml"
run 65 submit "$folder/bad.yaml" && err_has FAILED
ok 'and an event that there is not, with the nearest'

# A receiver that answers with an error, and a controller that is killed before the next try.
job "$folder/b.yaml" && printf 'project: nlp\nnotify: [{on: [CANCELLED], to: project}]\n' >>"$folder/b.yaml"
id=$(submit --hold "$folder/b.yaml") && run 0 cancel "$id" && within 5 say_event "$id" 'NOTIFY_FAILED.*HTTP status 500; next try'
ok 'what a webhook refuses is an event that people can see'
kill_daemon
begin_site && within 5 has_got /fail/1/nlp 2 && within 5 say_event "$id" NOTIFY_DELIVERED
ok 'after a kill -9 it is tried again'
# shellcheck disable=SC2046 # file names without spaces
same "$(header $(got /fail/1/nlp | head -n 1) webhook-id)" "$(header $(got /fail/1/nlp | tail -n 1) webhook-id)" &&
    has_got /fail/1/nlp 2 && ! has_got /fail/1/nlp 3
ok 'under the same id, until it is acknowledged, and no longer'

job "$folder/c.yaml" && echo 'notify: [{on: [CANCELLED], to: dead}]' >>"$folder/c.yaml"
id=$(submit --hold "$folder/c.yaml") && run 0 cancel "$id" && within 5 say_event "$id" 'NOTIFY_FAILED.*onnect'
ok 'where nobody listens the event has the reason'
within 8 sh -c "[ \"\$('$top_builddir/wafer' events $id | grep -c NOTIFY_FAILED)\" -ge 2 ]"
ok 'and it is tried again, in real time'

if [ "$tls_port" -ne 1 ]; then
    job "$folder/f.yaml" && echo 'notify: [{on: [CANCELLED], to: tls}]' >>"$folder/f.yaml"
    id=$(submit --hold "$folder/f.yaml") && run 0 cancel "$id" && within 5 say_event "$id" 'NOTIFY_FAILED.*certificate'
    ok 'a server that nobody vouches for gets nothing'
else
    number=$((number + 1))
    echo "ok $number - a server that nobody vouches for gets nothing # SKIP openssl is missing"
fi

# Twelve that hang, and a controller that answers all the same.
job "$folder/d.yaml" && printf 'array: 1-12\nnotify: [{on: [CANCELLED], to: slow}]\n' >>"$folder/d.yaml"
id=$(submit --hold "$folder/d.yaml") && run 0 cancel --yes "$id"
within 5 has_got /hang 4 && timeout 5 "$top_builddir/wafer" show "$id" >"$folder/out" && ! has_got /hang 5
ok 'while a webhook hangs, clients are answered, and it gets four at once'
id=$(submit --hold "$folder/a.yaml") && run 0 cancel "$id" && within 5 has_got /ok/ops 2
ok 'and so are the other webhooks'

# Another site file, under a controller that runs.
cp "$site" "$folder/before.yaml"
sed -i "/{name: all,/d; s,/ok/ops\",/ok/moved\",; s,^notify_allow:,  - {name: late\, url: \"http://127.0.0.1:$port/ok/late\"\, on: [CANCELLED]}\n&," "$site"
kill -HUP "$daemon" && within 5 grep -q 'reload: webhooks: changed$' "$folder/$logs.log"
ok 'a reload takes other webhooks'
id=$(submit --hold "$folder/a.yaml") && run 0 cancel "$id" && within 5 has_got /ok/moved 1 && within 5 has_got /ok/late 1 &&
    header "$(got /ok/moved)" webhook-signature | grep -q '^v1,.\{44\}$'
ok 'one has another address, and one is new'
run 65 submit --set 'notify=[{on: [FAILED], to: all}]' "$folder/a.yaml" && err_has "there is no webhook 'all'"
ok 'and one is gone'
sed -i "s,secret: $folder/secret,secret: ops-hook," "$site"
kill -HUP "$daemon" && within 5 grep -q "credential 'ops-hook'" "$folder/$logs.log" &&
    within 5 grep -q 'reload: nothing of .* is applied' "$folder/$logs.log"
ok 'a credential that was not given at the start: nothing is applied'
cp "$folder/before.yaml" "$site" && kill -HUP "$daemon" &&
    within 5 sh -c "[ \"\$(grep -c 'reload: webhooks: changed$' '$folder/$logs.log')\" -eq 2 ]"
ok 'the file as it was is good again'

# What the site asks for, of jobs that ask for nothing.
"$top_builddir/wafersim" --socket "$folder/agent.sock" --vault "$folder/vault" --host h1 \
    --platforms "$top_srcdir/policies/platforms" --pool wafer=cs3:1 >"$folder/sim.log" 2>&1 &
systems=$!
job "$folder/e.yaml" 1000000
run 4 submit --wait --limit 10m "$folder/e.yaml" && within 5 has_got /ok/all 1 &&
    body "$(got /ok/all)" | jq -e '.event == "TIMEOUT" and .job.cause == "TIME_LIMIT"' >/dev/null
ok 'a webhook of the site is told of every job that runs out of time'
kill "$daemon" && wait "$daemon"
same $? 0
ok 'with notifications under way the controller ends as it should'
daemon=

# The receiver of the examples, which works the signature out for itself.
if command -v python3 >/dev/null 2>&1; then
    python3 "$top_srcdir/examples/webhook-receiver.py" "$folder/secret" 0 >"$folder/example" 2>&1 &
    receivers="$receivers $!"
    within 5 grep -q '^listening on port' "$folder/example"
    sed -i "s,http://127.0.0.1:$port/ok/ops,http://127.0.0.1:$(sed -n 's/^listening on port //p' "$folder/example")/," "$site"
    begin_site && id=$(submit --hold "$folder/a.yaml") && run 0 cancel --reason enough "$id" &&
        within 5 grep -q " CANCELLED job $id a: enough" "$folder/example"
    ok 'the receiver of the examples finds the signature right'
    kill "$daemon" && wait "$daemon"
    daemon=
else
    number=$((number + 1))
    echo "ok $number - the receiver of the examples finds the signature right # SKIP python3 is missing"
fi

chmod 644 "$folder/secret"
run_waferd() { "$top_builddir/waferd" --config "$site" "$@" >"$folder/out" 2>"$folder/err"; }
run_waferd --check-config
[ $? -eq 78 ] && err_has 'webhooks[0].secret' && err_has 'its mode must be 0600'
ok 'a secret that others may read is refused'
sed -i "s,secret: $folder/secret,secret: ops-hook," "$site"
run_waferd
[ $? -eq 78 ] && err_has "credential 'ops-hook'"
ok 'a credential that is missing is named'
mkdir "$folder/credentials" && chmod 600 "$folder/secret" && cp "$folder/secret" "$folder/credentials/ops-hook"
CREDENTIALS_DIRECTORY=$folder/credentials && export CREDENTIALS_DIRECTORY
run_waferd --check-config
ok 'and is good where the service manager gives it'
finish
