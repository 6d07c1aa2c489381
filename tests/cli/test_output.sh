#!/bin/sh
# Formats that scripts read, streams that fail, controllers that are not there.
. "${top_srcdir:?}/tests/cli/lib.sh"
plan 24

# ---- B28: names of any kind, in every format one record each ----

cat >"$folder/names" <<'END'
--- list
jobs:
  schema: x
  total: 6
  truncated: false
  items:
    - {id: 1, name: "a|b", uid: 0, state: PENDING, title: "tab\there"}
    - {id: 2, name: "line", uid: 0, state: PENDING, title: "one\ntwo\r\n"}
    - {id: 3, name: "für", uid: 0, state: PENDING, title: "back\\slash"}
    - {id: 4, name: "😀", uid: 0, state: PENDING, title: "\x01\x7f"}
    - {id: 5, name: "日本", uid: 0, state: PENDING, title: "\u202e"}
    - {id: 6, name: "", uid: 0, state: PENDING}
END
run names ls -o plain
exits 0 && [ "$(wc -l <"$folder/out")" -eq 6 ] && [ "$(awk -F '\t' '{ print NF }' "$folder/out" | sort -u)" = 16 ] &&
    [ "$(cut -f 16 "$folder/out" | head -n 4)" = "$(printf '%s\n' 'tab\there' 'one\ntwo\r\n' 'back\\slash' '\x01\x7f')" ]
ok "plain has a line a job and 16 fields in each, whatever the names hold (B28)"

run names ls -o json
[ "$(jq -c '[.items[] | .name]' "$folder/out")" = '["a|b","line","für","😀","日本",""]' ] &&
    [ "$(jq -c '.items[1].title' "$folder/out")" = '"one\ntwo\r\n"' ] && [ "$(jq .total "$folder/out")" = 6 ] &&
    jq -e '.items[0] | has("checkpoint") and .checkpoint == null' "$folder/out" >/dev/null
ok "json gives every name back, and has every key (B28)"

cp "$folder/names" "$folder/names-table"
printf -- '--- system_list\nsystems: {schema: x}\n' >>"$folder/names-table"
run names-table ls
exits 0 && [ "$(wc -l <"$folder/out")" -eq 8 ] && grep -q '^4      😀    ' "$folder/out" && grep -q '^5      日本  ' "$folder/out"
ok "columns count cells, not bytes (B28)"

LC_ALL=C COLUMNS=140 run names-table ls
exits 0 && out_has '\xe6\x97\xa5\xe6\x9c\xac'
ok "a locale that is not UTF-8 gets the bytes written out"

cat >"$folder/watch" <<'END'
--- list
more: true
jobs: {schema: x, items: [{id: 7, name: gpt, state: PENDING}]}
--- more
more: true
jobs: {schema: x, items: [{id: 7, name: gpt, state: RUNNING, phase: LOAD}]}
--- more
more: true
removed: {ids: [7]}
--- more
jobs: {schema: x, items: []}
END
run watch ls --watch -o json
exits 0 && asked "watch: true" &&
    [ "$(jq -c '[.event, .id, .item.state]' "$folder/out" | tr -d '\n')" = '[null,null,"PENDING"][null,null,"RUNNING"]["removed",7,null]' ]
ok "ls --watch -o json is full records, and what was removed"

run watch ls --watch
exits 0 && printf 'job 7 gpt: PENDING\njob 7 gpt: RUNNING LOAD\n' | out_is
ok "ls --watch without a terminal is a line for each change"

# ---- colour ----

run names-table ls --color always
grep -q "$(printf '\033')" "$folder/out"
ok "--color always colours"
run names-table ls
! grep -q "$(printf '\033')" "$folder/out"
ok "no colour without a terminal"

# ---- standard streams ----

"$fake" "$folder/names" "$wafer" ls -o plain >/dev/full 2>"$folder/err"
status=$?
exits 74 && echo "wafer: ls: cannot write to standard output: No space left on device" | err_is
ok "a full disk under standard output is 74"

"$fake" "$folder/names" "$wafer" ls -o json >&- 2>"$folder/err"
status=$?
exits 74 && err_has "Bad file descriptor"
ok "a closed standard output is 74, and no socket takes its place"

mkfifo "$folder/pipe"
i=0
printf -- '--- events\nevents:\n  schema: x\n  items:\n' >"$folder/flood"
while [ $i -lt 3000 ]; do
    i=$((i + 1))
    echo "    - {sequence: $i, at: 2026-01-15T08:00:00Z, kind: JOB_SUBMITTED, text: some text to fill a pipe with}"
done >>"$folder/flood"
head -n 1 <"$folder/pipe" >"$folder/head" &
"$fake" "$folder/flood" "$wafer" events -n 3000 >"$folder/pipe" 2>"$folder/err"
status=$?
wait
exits 141 && [ ! -s "$folder/err" ] && [ "$(wc -l <"$folder/head")" -eq 1 ]
ok "a reader that leaves ends the command quietly"

# ---- controllers ----

started=$(date +%s%N)
alone ls --socket "$folder/nobody"
took=$((($(date +%s%N) - started) / 1000000))
exits 69 && err_has "wafer: ls: no controller at '$folder/nobody': start it with 'systemctl start waferd'" &&
    err_has "waferd --dev DIR" && [ $took -lt 1000 ]
ok "no socket: 69 within a second, with how to start one"

"$fake" "$folder/names" sh -c "rm -f \$WAFER_SOCKET; \"$wafer\" ls" >"$folder/out" 2>"$folder/err"
: >"$folder/file"
alone ls --socket "$folder/file"
exits 69
ok "a file that is no socket: 69"

alone ls -o json --socket "$folder/nobody"
exits 69 && [ "$(jq -r '.code + " " + (.exit | tostring)' "$folder/err")" = "E_UNREACHABLE 69" ]
ok "with -o json that is an ErrorItem too"

long=$(printf '%0200d' 0)
alone ls --socket "/tmp/$long"
exits 64 && err_has "--socket: "
ok "a path too long for a socket, on the command line: 64"
WAFER_SOCKET=/tmp/$long alone ls
exits 78 && err_has "WAFER_SOCKET: "
ok "and in the environment: 78"

printf -- '--- hello 2 0\n' >"$folder/major"
run major ls
exits 76 && err_has "use the client that came with the controller"
ok "another protocol version: 76"
run major version
exits 76 && grep -q "^wafer  [0-9]" "$folder/out"
ok "version tells its own even then"

printf -- '--- version\nversion: {schema: x, client: y, server: 0.1.0, protocol: 1}\n' >"$folder/version"
run version version -o json
exits 0 && [ "$(jq -c '[.schema, .server, .protocol]' "$folder/out")" = '["wafer.version/v1","0.1.0",1]' ] &&
    run version version && out_has "waferd 0.1.0  protocol 1"
ok "version tells both"

printf -- '--- list\n--- garbage\n' >"$folder/garbage"
run garbage ls -q
exits 76 && err_has "sent bytes that are no response"
ok "bytes that are no response: 76"

printf -- '--- list\n--- close\n' >"$folder/gone"
run gone ls -q
exits 69 && err_has "went away"
ok "a controller that goes away before it answers: 69"

printf -- '--- list\n' >"$folder/silent"
run silent ls -q --timeout 0.1s
exits 69 && err_has "no answer within 100 ms"
ok "one that does not answer: 69 after --timeout"

printf -- '--- show\nversion: {schema: x, client: y}\n' >"$folder/other"
run other show 7 -v
exits 76 && err_has "'waferd 0.1.0' answers at '/"
ok "an answer to another question: 76; -v tells who answers"

documents_match
