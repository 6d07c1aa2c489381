#!/bin/sh
# Every format of every kind of thing; what is left out, in which order; ids from standard input.
. "${top_srcdir:?}/tests/cli/lib.sh"
plan 38

jobs() {
    cat <<'END'
jobs:
  schema: x
  generated_at: 2026-01-15T09:00:00Z
  total: 4
  truncated: false
  items:
    - {id: 1, name: c, uid: 0, queue: prod, state: RUNNING, submitted_at: 2026-01-15T08:59:00Z, progress: {step: 900, max_steps: 1000, loss: 2.5}, systems: {allocated: [s0, s1]}, labels: {pilot: q1, team: nlp}}
    - {id: 2, name: a, uid: 0, queue: prod, state: PENDING, submitted_at: 2026-01-15T06:00:00Z, progress: {step: 1000}, labels: {pilot: q2}}
    - {id: 3, name: b, uid: 0, queue: gpu, state: PENDING, submitted_at: 2026-01-15T08:30:00Z, labels: {pilot: q1}}
    - {id: 4, array_id: 4, array_index: 0, name: d, uid: 0, state: HELD, submitted_at: 2026-01-14T08:30:00Z}
END
}
{ printf -- '--- list\n'; jobs; } >"$folder/list"

run list ls -o name
exits 0 && printf '1\n2\n3\n4_0\n' | out_is
ok "-o name is what - takes"

run list ls -o ndjson
exits 0 && [ "$(wc -l <"$folder/out")" -eq 4 ] &&
    [ "$(jq -r '.schema + " " + (.item.id | tostring)' "$folder/out" | head -n 1)" = "wafer.job/v1 1" ]
ok "-o ndjson is a document a line"

run list ls -o yaml
exits 0 && out_has "schema: wafer.job.list/v1" && out_has "  - id: 1" && out_has "total: 4" && ! out_has null
ok "-o yaml is the document without what is not there"

run list ls -o cols=id,name,progress.step,progress.loss,systems.allocated,labels.team,submitted_at
exits 0 && out_is <<'END'
ID  NAME  PROGRESS.STEP  PROGRESS.LOSS  SYSTEMS.ALLOCATED  LABELS.TEAM  SUBMITTED_AT
 1  c               900            2.5  s0,s1              nlp          2026-01-15 08:59:00+00:00
 2  a              1000              -  -                  -            2026-01-15 06:00:00+00:00
 3  b                 -              -  -                  -            2026-01-15 08:30:00+00:00
 4  d                 -              -  -                  -            2026-01-14 08:30:00+00:00
END
ok "-o cols= is a table of keys, however wide"

run list ls -o cols=labels,systems --no-header
exits 0 && head -n 1 "$folder/out" | grep -qF 'pilot=q1,team=nlp  {"requested":null,"min":null,"allocated":["s0","s1"]}'
ok "a mapping is its pairs, and what is larger is JSON"

WAFER_LS_COLUMNS=name,id run list ls
exits 0 && head -n 2 "$folder/out" >"$folder/first" && printf 'NAME  ID\nc      1\n' | cmp -s - "$folder/first" &&
    WAFER_LS_COLUMNS=name,id run list ls -o plain && out_has "$(printf '1\tc\troot')"
ok "WAFER_LS_COLUMNS chooses the table, and -o wins over it"

alone ls -o cols=id,nmae
exits 64 && echo "wafer: ls: -o: there is no column 'nmae': did you mean name" | err_is
ok "a column that is not there is refused with the nearest"
WAFER_LS_COLUMNS=id.x alone ls
exits 78 && err_has "WAFER_LS_COLUMNS: there is no column 'id.x'"
ok "in the environment that is a configuration error"
alone ls -o cols=
exits 64
ok "no columns at all are refused"

cp "$folder/list" "$folder/wide"
printf -- '--- system_list\nsystems: {schema: x, items: [{name: s0, state: UP, job: 1}]}\n' >>"$folder/wide"
run wide ls -o wide
exits 0 && head -n 1 "$folder/out" | grep -q '^JOBID  NAME  USER  PROJECT  QUEUE  PRI  SYS  STATE .*  ENDS IN  CKPT .*SUBMITTED .*STARTS BY .*ON     REASON$'
ok "-o wide has every column, cut by no width"

# ---- which, in which order ----

ids() { tr '\n' ' ' <"$folder/out"; }

run list ls -o name --label pilot=q1
exits 0 && [ "$(ids)" = "1 3 " ]
ok "--label leaves those that have it"
run list ls -o name --label pilot=q1 --label team=nlp
exits 0 && [ "$(ids)" = "1 " ]
ok "two labels leave those that have both"
run list ls -o name --since 1h
exits 0 && [ "$(ids)" = "1 3 " ]
ok "--since 1h counts back from the controller's clock"
run list ls -o name --since 2026-01-15T06:00:00Z
exits 0 && [ "$(ids)" = "1 2 3 " ]
ok "--since takes RFC 3339"
TZ=CET-1 run list ls -o name --since '2026-01-15 09:30'
exits 0 && [ "$(ids)" = "1 3 " ] && run list ls -o name --since 2026-01-15 && [ "$(ids)" = "1 2 3 " ]
ok "--since takes a local time and a date"
run list ls -o name --sort -progress.step
exits 0 && [ "$(ids)" = "2 1 3 4_0 " ]
ok "--sort -KEY is downwards, and what has no value comes last"
run list ls -o name --sort name
exits 0 && [ "$(ids)" = "2 3 1 4_0 " ]
ok "--sort KEY is upwards"
run list ls -o json --sort -submitted_at --limit 2
exits 0 && [ "$(jq -c '[[.items[].id], .total, .truncated]' "$folder/out")" = '[[1,3],4,true]' ] && asked "limit: 10000"
ok "--limit cuts what is sorted, and the total says so"
WAFER_SORT=-id run list ls -o name
exits 0 && [ "$(ids)" = "4_0 3 2 1 " ]
ok "WAFER_SORT is the order where no flag gives one"

sed 's/total: 4/total: 20000/' "$folder/list" >"$folder/many"
run many ls -o json --label pilot=q1
exits 0 && [ "$(jq '.warnings | length' "$folder/out")" -eq 1 ] && err_has "only 4 of 20000 jobs were looked at"
ok "what could not be looked at is told"

for wrong in '--label pilot' '--label =x' '--since soon' '--since 2026-13-01' '--sort stepp' '--sort -'; do
    # shellcheck disable=SC2086 # two words are two
    alone ls $wrong
    exits 64 && [ "$(wc -l <"$folder/err")" -eq 1 ] || { echo "# $wrong"; false; break; }
done
ok "a label, a time or a key that is none is refused"

# ---- other kinds of things ----

cat >"$folder/systems" <<'END'
--- system_list
systems: {schema: x, items: [{name: s0, pool: wafer, state: UP, job: 7}, {name: s1, pool: wafer, state: DOWN, reason: crash}]}
END
run systems system ls -o name
exits 0 && [ "$(ids)" = "s0 s1 " ] && run systems system ls -q && [ "$(ids)" = "s0 s1 " ]
ok "names of systems"
run systems system ls -o cols=name,state,job && exits 0 && out_has "s1    DOWN     -" &&
    run systems system ls -o ndjson && [ "$(jq -r .schema "$folder/out" | sort -u)" = wafer.system/v1 ]
ok "systems in columns and as documents"

cat >"$folder/polled" <<'END'
--- system_list
systems: {schema: x, items: [{name: s0, state: UP}, {name: s1, state: UP, job: 7}]}
--- system_list
systems: {schema: x, items: [{name: s0, state: UP}, {name: s1, state: DOWN, reason: crash}]}
--- system_list
systems: {schema: x, items: [{name: s1, state: DOWN, reason: crash}]}
--- system_list
error: {code: E_DENIED, exit: 77, message: "no more"}
END
run polled system ls --watch=0.01s
exits 77 && printf 'system s0: UP\nsystem s1: UP, job 7\nsystem s1: DOWN: crash\n' | out_is
ok "system ls --watch without a terminal is a line for each change"
run polled system ls --watch=0.01s -o json
exits 77 && [ "$(jq -c '[.schema, .event, .name, .item.state]' "$folder/out" | tail -n 2 | tr -d '\n')" = \
    '["wafer.system/v1",null,null,"DOWN"][null,"removed","s0",null]' ]
ok "with -o json it is full records, and what was removed"

cat >"$folder/checkpoints" <<'END'
--- checkpoint_list
checkpoints: {schema: x, items: [{id: 7@900.1, job: 7, step: 900, state: VERIFIED, bytes: 5}]}
END
run checkpoints ckpt ls 7 -o name && exits 0 && [ "$(ids)" = "7@900.1 " ] &&
    run checkpoints ckpt ls 7 -o cols=id,bytes && out_has "7@900.1      5"
ok "checkpoints by name and in columns"

cat >"$folder/events" <<'END'
--- events
events: {schema: x, generated_at: 2026-01-15T09:00:00Z, items: [{sequence: 5, at: 2026-01-15T08:00:00Z, kind: JOB_SUBMITTED, job: 7}, {sequence: 6, at: 2026-01-15T08:59:00Z, kind: JOB_STARTED, job: 7}]}
END
run events events -o cols=sequence,kind && exits 0 && out_has "6  JOB_STARTED" &&
    run events events --since 10m -o json && [ "$(jq -c '[.total, .items[0].sequence]' "$folder/out")" = '[1,6]' ]
ok "events in columns, and since a time"

cat >"$folder/show" <<'END'
--- show
show: {job: {id: 7, name: a, uid: 0, state: RUNNING}, spec: {apiVersion: wafer/v1, kind: Job, name: a}}
END
cp "$folder/show" "$folder/show-two"
printf -- '--- show\nshow: {job: {id: 8, name: b, uid: 0, state: HELD}, spec: {apiVersion: wafer/v1, kind: Job, name: b}}\n' \
    >>"$folder/show-two"
run show show 7 -o yaml && exits 0 && out_has "schema: wafer.job/v1" && out_has "  name: a" &&
    run show show 7 -o cols=id,state && out_has "RUNNING" && run show show 7 -o name && [ "$(ids)" = "7 " ]
ok "show in every format"
run show-two show 7 8 -o json && exits 0 && [ "$(jq -c '[.schema, .total, .items[1].id]' "$folder/out")" = '["wafer.job.list/v1",2,8]' ]
ok "several that are shown are a list"
run show-two show 7 8 && exits 0 && out_has "job 7  a" && out_has "job 8  b" && run show-two show 7 8 --spec &&
    [ "$(grep -c '^---$' "$folder/out")" -eq 2 ]
ok "or a page each"

cat >"$folder/change" <<'END'
--- hold
job: {id: 7, name: a, state: HELD}
--- hold
job: {id: 8, name: b, state: HELD}
END
run change hold 7 8 --yes -o name && exits 0 && [ "$(ids)" = "7 8 " ] &&
    run change hold 7 8 --yes -o cols=id,state && out_has "8  HELD"
ok "what a verb changed comes in every format"

for verb in "logs 7" "logs -f 7"; do
    # shellcheck disable=SC2086
    alone $verb -o yaml
    exits 64 && err_has "logs are text" || break
done
ok "logs have no formats"

# ---- ids from standard input ----

from_input() { # SCRIPT "LINES" ARGUMENT...
    script=$1 lines=$2
    shift 2
    printf '%b' "$lines" | "$fake" "$folder/$script" "$wafer" "$@" >"$folder/out" 2>"$folder/err"
    status=$?
}
from_input change '7\tjunk\n\n  8\n' hold - --yes
exits 0 && out_has "job 8 b: HELD"
ok "hold - reads an id from the start of each line"
from_input show-two '7\n8\n' show - -o name
exits 0 && [ "$(ids)" = "7 8 " ]
ok "so does show -"
from_input checkpoints '7\n' ckpt ls - -o name
exits 0 && [ "$(ids)" = "7@900.1 " ]
ok "a verb that takes one job takes one line"
printf '7\n8\n' | "$wafer" logs - >"$folder/out" 2>"$folder/err"
status=$?
exits 64 && err_has "standard input names 2 jobs: this verb takes one"
ok "and says so when there are more"

# ---- exit codes of the tool ----

WAFER_EXIT_ERROR=200 alone ls --socket "$folder/nobody"
exits 200 && WAFER_EXIT_ERROR=0 alone ls && exits 78 && WAFER_EXIT_ERROR=200 alone cancel - && exits 2
ok "WAFER_EXIT_ERROR replaces the codes of errors, not those of outcomes"

documents_match
