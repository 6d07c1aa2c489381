#!/bin/sh
# What is typed wrong is refused with 64 and the nearest right word, and nothing is run.
. "${top_srcdir:?}/tests/cli/lib.sh"
plan 53

refused() { # STATUS "what it says" ARGUMENT...
    wanted=$1 says=$2
    shift 2
    alone "$@"
    exits "$wanted" && printf '%s\n' "$says" | err_is
    ok "wafer $*"
}

refused 64 "wafer: unknown verb 'submti': did you mean 'wafer submit'?" submti
refused 64 "wafer: unknown verb 'chkpt': did you mean 'wafer ckpt'?" chkpt
refused 64 "wafer: ckpt: unknown verb 'pni': did you mean 'wafer ckpt pin'?" ckpt pni
refused 64 "wafer: unknown verb 'zzzzzz': 'wafer help' lists them" zzzzzz
refused 64 "wafer: ls: unknown flag '--al': did you mean '--all'?" ls --al
refused 64 "wafer: ls: unknown flag '--allusers': did you mean '--all-users'?" ls --allusers
refused 64 "wafer: ls: unknown flag '--zzzzzz': 'wafer ls -h' lists them" ls --zzzzzz
refused 64 "wafer: flag '--follow' belongs to a verb: write it after it" --follow logs 7
refused 64 "wafer: ls: unknown flag '-x': long flags have two dashes, 'wafer help' lists them" ls -x
refused 64 "wafer: ls: flag '--limit' needs a value: --limit N" ls --limit
refused 64 "wafer: ls: flag '--all' takes no value: leave out '=yes'" ls --all=yes
refused 64 "wafer: ls: --limit: '-3' is not a whole number up to 4294967295" ls --limit -3
refused 64 "wafer: ls: --limit: '99999999999999999999' is not a whole number up to 4294967295" \
    ls --limit=99999999999999999999
refused 64 "wafer: ls: -o: unknown format 'xml': table, wide, json, ndjson, yaml, name, plain or cols=KEY,..." ls -o xml
refused 64 "wafer: ls: --state: 'RUNING' is no state: did you mean RUNNING" ls --state pending,RUNING
refused 64 "wafer: ls: --mine and --all-users exclude each other" ls --mine --all-users
refused 64 "wafer: ls: '7' is one word too many: 'wafer ls'" ls 7
refused 64 "wafer: show: a target is missing: 'wafer show ID...'" show
refused 64 "wafer: show: '17_' is no job: an id like 7, 7_3 or 7.2, or a name" show 17_
refused 64 "wafer: show: 'a\tb' is no job: an id like 7, 7_3 or 7.2, or a name" show "$(printf 'a\tb')"
for server in http://head ssh:// ssh://-oProxyCommand=x ssh://a@-x 'ssh://a;b' 'ssh://a b'; do
    refused 64 "wafer: ls: --server: '$server' is no server: unix:/path/of/the.sock or ssh://[USER@]HOST[:PORT]" \
        ls --server "$server"
done
refused 64 "wafer: ls: --color: unknown choice 'maybe': auto, always or never" ls --color maybe
refused 64 "wafer: ls: --tz: unknown time zone 'Mars': UTC or local" ls --tz Mars
refused 64 "wafer: cancel: 2 jobs at once: --yes says that you mean it" cancel 7 8
refused 2 "wafer: cancel: standard input names no job" cancel -
WAFER_OUTPUT=json alone logs 7
exits 64 && err_has "logs are text: leave out '-o json'"
ok "logs are not JSON"
refused 64 "wafer: logs: --attempt: '0' is no attempt: 1, 2, ... or all" logs 7 --attempt 0
refused 64 "wafer: system fault: 'hang' is no fault of this version: crash" system fault s0 hang
refused 64 "wafer: submit: --systems: '2..' is no number like 4 or 2..4" submit - --systems 2..
refused 64 "wafer: resume: --systems: a job needs at least one" resume 7 --systems 0
refused 66 "wafer: submit: cannot open 'no.yaml': No such file or directory" submit no.yaml
refused 66 "wafer: submit: cannot read '/': Is a directory" submit /
mkfifo "$folder/pipe"
refused 66 "wafer: submit: '$folder/pipe' is a pipe that nobody wrote to" submit "$folder/pipe"
refused 64 "wafer: help: no help on 'submti': did you mean 'wafer submit'?" help submti

alone wait 7 --timeout 90
exits 64 && err_has "--timeout" && err_has "90m"
ok "a duration without a unit is refused with one that would do"

alone wait 7 --timeout 100ms
exits 64 && err_has "its units are d, h, m and s"
ok "a unit that is not there is not taken for one that is"

WAFER_OUTPUT=xml alone ls
exits 78 && err_has "WAFER_OUTPUT: unknown format 'xml'"
ok "a wrong format in the environment is a configuration error"

alone ls --all=yes -o json
exits 64 &&
    [ "$(jq -r '.schema + " " + .code + " " + (.exit | tostring)' "$folder/err")" = \
        "wafer.error/v1 E_USAGE 64" ]
ok "with -o json a usage error is an ErrorItem"

alone; exits 0 && out_has "submit FILE|-"; ok "no verb: help"
alone ckpt; exits 0 && out_has "ckpt prune ID"; ok "a bare group: its help"
alone ls -h; exits 0 && out_has "--all-users"; ok "VERB -h: its flags"
alone show --help; exits 0 && out_has "wafer show ID"; ok "--help needs no target"
alone help ckpt pin; exits 0 && out_has "wafer ckpt pin CKPT..."; ok "help GROUP VERB"
alone help exit; exits 0 && out_has "76  other protocol version"; ok "help TOPIC"
alone --version; exits 0 && grep -q "^wafer [0-9]" "$folder/out"; ok "--version"

# Nothing of a later version is half there.
for verb in plan explain diff report approval; do
    alone $verb 7
    exits 64 && err_has "unknown verb '$verb'" || break
done
ok "verbs of later versions are unknown verbs"

refused 64 "wafer: wait: --any takes at most 16 jobs" wait --any $(seq 17)

documents_match
