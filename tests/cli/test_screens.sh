#!/bin/sh
# The screens at 80 columns, and what a stored byte may do to them (nothing).
. "${top_srcdir:?}/tests/cli/lib.sh"
plan 20

cat >"$folder/list" <<'END'
--- list
jobs:
  schema: x
  generated_at: 2026-01-15T09:00:00Z
  total: 4
  items:
    - {id: 4700, name: gpt-7b-a, uid: 0, queue: prod, state: RUNNING, phase: EXECUTE, systems: {requested: 2}, elapsed_s: 35467, limit_s: 43200, progress: {step: 41000, max_steps: 100000}, checkpoint: {last_good_step: 40000, at: 2026-01-15T08:58:00Z, verified: true}}
    - {id: 4711, name: gpt-7b-pretrain, uid: 0, queue: prod, state: PENDING, systems: {requested: 2}, limit_s: 86400, progress: {step: 3000, max_steps: 100000}, checkpoint: {last_good_step: 3000, verified: true}, reason: {code: Resources, detail: "needs 2, free 1"}}
    - {id: 12, array_id: 10, array_index: 2, name: sweep, uid: 4294967, state: HELD, reason: {code: HeldUser}}
END
cp "$folder/list" "$folder/ls"
cat >>"$folder/ls" <<'END'
--- system_list
systems:
  schema: x
  items: [{name: s0, state: UP, job: 4700}, {name: s1, state: UP, job: 4700}, {name: s2, state: UP, drained: true}, {name: s3, state: DOWN}]
END

run ls ls
exits 0 && out_is <<'END'
JOBID  NAME         SYS  STATE    STEP/MAX        ELAPSED/LIMIT      REASON
4700   gpt-7b-a       2  RUNNING  41k/100k   41%  09:51:07/12:00:00  -
4711   gpt-7b-pre+    2  PENDING  3k/100k     3%  -/1-00:00:00       Resources:+
10_2   sweep          -  HELD     -               -                  HeldUser
3 of 4 shown · 1 pending · 1 held · 1 running · systems 2/4 busy, 1 drained, 1 down · --limit shows more
END
ok "ls fits 80 columns: columns go, texts are cut"

COLUMNS=140 run ls ls
exits 0 && out_is <<'END'
JOBID  NAME             QUEUE  SYS  STATE    PHASE    STEP/MAX        ELAPSED/LIMIT      CKPT      REASON
4700   gpt-7b-a         prod     2  RUNNING  EXECUTE  41k/100k   41%  09:51:07/12:00:00  2m ago    -
4711   gpt-7b-pretrain  prod     2  PENDING  -        3k/100k     3%  -/1-00:00:00       verified  Resources: needs 2, free 1
10_2   sweep            -        -  HELD     -        -               -                  -         HeldUser
3 of 4 shown · 1 pending · 1 held · 1 running · systems 2/4 busy, 1 drained, 1 down · --limit shows more
END
ok "ls shows all there is room for"

LC_ALL=C run ls ls --no-header
exits 0 && ! LC_ALL=C grep -q '[^ -~]' "$folder/out" && ! out_has JOBID && out_has "3 of 4 shown, 1 pending"
ok "ls in a locale that is not UTF-8 is ASCII; --no-header leaves the first line out"

run ls ls --all-users --all --state failed,RUNNING --queue prod -n 5
asked "all_users: true" && asked "ended: true" && asked FAILED && asked RUNNING &&
    asked "queue: prod" && asked "limit: 5"
ok "ls asks for what its flags say"

run list ls -q
exits 0 && out_is <<'END'
4700
4711
10_2
END
ok "ls -q prints ids alone"

run list ls -o plain
exits 0 && [ "$(wc -l <"$folder/out")" -eq 3 ] && head -n 1 "$folder/out" >"$folder/first" &&
    printf '4700\tgpt-7b-a\troot\tprod\tRUNNING\tEXECUTE\t-\t-\t41000\t100000\t2\t35467\t43200\t40000\t-\t-\n' |
    cmp -s - "$folder/first"
ok "ls -o plain is a record a line without a header"

cat >"$folder/show" <<'END'
--- show
show:
  job:
    id: 4711
    name: gpt-7b-pretrain
    title: "1.3B, compute-optimal"
    uid: 0
    attempt: 2
    project: nlp
    queue: prod
    priority: 299
    state: RUNNING
    phase: EXECUTE
    systems: {requested: 2, min: 1, allocated: [ws2, ws3]}
    submitted_at: 2026-01-15T08:00:00Z
    started_at: 2026-01-15T08:01:00Z
    limit_s: 86400
    elapsed_s: 35467
    total_run_s: 40000
    progress: {step: 41000, max_steps: 100000, loss: 2.4123, eta_s: 51000, samples_per_s: 1234.5}
    checkpoint: {last_good_id: 4711@40000.3, last_good_step: 40000, at: 2026-01-15T17:45:00Z, bytes: 28991029248, verified: true}
    platform: cs3
    pool: wafer
    labels: {pilot: q1}
    cost: {amount: "354.67", currency: EUR, estimated: true}
    steps_lost: 1204
  events:
    - {sequence: 11, at: 2026-01-15T08:00:00Z, kind: JOB_SUBMITTED, job: 4711, uid: 0}
    - {sequence: 12, at: 2026-01-15T08:30:00Z, kind: ATTEMPT_ENDED, job: 4711, cause: SYSTEM_LOST, system: ws1, text: "no contact for 15 s"}
  spec: {apiVersion: wafer/v1, kind: Job, name: gpt-7b-pretrain}
END

run show show 4711
exits 0 && out_is <<'END'
job 4711  gpt-7b-pretrain  RUNNING EXECUTE
  title       1.3B, compute-optimal
  owner       root, project nlp, queue prod, priority p2
  systems     2, at least 1, on ws2 ws3, pool wafer, platform cs3
  progress    step 41,000 of 100,000 (41%), ends in 14:10:00
              loss 2.4123, 1234.5 samples/s
  checkpoint  4711@40000.3, step 40,000, verified, 27.0 GiB
              2026-01-15 17:45:00+00:00
  attempt     2, 1,204 steps lost
  submitted   2026-01-15 08:00:00+00:00
  started     2026-01-15 08:01:00+00:00
  run time    09:51:07, of at most 1-00:00:00, 11:06:40 over all attempts
  cost        about 354.67 EUR
  labels      pilot=q1
newest events
  2026-01-15 08:00:00+00:00  JOB_SUBMITTED         by root
  2026-01-15 08:30:00+00:00  ATTEMPT_ENDED         ws1  SYSTEM_LOST  no contact for 15 s
END
ok "show tells everything and ends with the newest events"

TZ=CET-1 run show show 4711
exits 0 && out_has "2026-01-15 09:00:00+01:00" && TZ=CET-1 run show show 4711 --tz UTC &&
    out_has "2026-01-15 08:00:00Z"
ok "times are local with their offset, or UTC when asked"

run show show 4711 --spec
exits 0 && out_has "apiVersion: wafer/v1" && out_has "name: gpt-7b-pretrain" && ! out_has 4711
ok "show --spec is the job file alone"

cat >"$folder/pending" <<'END'
--- show
show:
  job: {id: 12, array_id: 10, array_index: 2, name: sweep, state: PENDING, reason: {code: Resources, since: 2026-01-15T08:00:00Z, detail: "needs 2, free 1", blockers: [{kind: job, id: 4700}, {kind: system, name: ws1}], est_start: 2026-01-15T17:40:00Z, est_basis: time limits of running jobs}}
END
run pending show 10_2
exits 0 && asked "index: 2" && out_has "job 10_2  sweep  PENDING" &&
    out_has "  waits for   Resources: needs 2, free 1" &&
    out_has "  blocked by  job 4700, system ws1" &&
    out_has "  starts      2026-01-15 17:40:00+00:00 (time limits of running jobs)"
ok "a pending job shows its reason, its blockers and its planned start"

cat >"$folder/checkpoints" <<'END'
--- checkpoint_list
checkpoints:
  schema: x
  total: 2
  items:
    - {id: 7@9000.2, job: 7, attempt: 2, step: 9000, state: VERIFIED, bytes: 28991029248, shards: 4, metric: 2.41, pinned: true, created_at: 2026-01-15T08:00:00Z}
    - {id: 7@10000.2, job: 7, attempt: 2, step: 10000, state: CORRUPT, bytes: 28991029248, shards: 4, created_at: 2026-01-15T09:00:00Z, detail: "shard 2: digest differs"}
END
run checkpoints ckpt ls 7
exits 0 && out_is <<'END'
CHECKPOINT  STATE         SIZE  PIN  DETAIL
7@9000.2    VERIFIED  27.0 GiB  yes  -
7@10000.2   CORRUPT   27.0 GiB  -    shard 2: digest differs
2 checkpoints, 54.0 GiB
END
ok "ckpt ls at 80 columns"

run checkpoints ckpt ls 7 -o json
[ "$(jq -r '.schema + " " + (.items | length | tostring) + " " + .items[1].state' "$folder/out")" = \
    "wafer.checkpoint.list/v1 2 CORRUPT" ]
ok "ckpt ls -o json is a CheckpointList"

sed 's/checkpoint_list/checkpoint_verify/' "$folder/checkpoints" >"$folder/verify"
run verify ckpt verify 7@10000
exits 1 && asked "step: 10000" && out_has "checkpoint 7@10000.2: CORRUPT: shard 2: digest differs"
ok "ckpt verify exits 1 for a corrupt checkpoint and says what is wrong"

cat >"$folder/pin" <<'END'
--- checkpoint_pin
checkpoints: {schema: x, items: [{id: 7@9000.2, state: VERIFIED, pinned: true}]}
--- checkpoint_pin
error: {code: E_NOT_FOUND, exit: 77, message: "no checkpoint 7@1", hint: "wafer ckpt ls 7 lists them"}
END
run pin ckpt pin 7@9000.2 7@1
exits 77 && asked "epoch: 2" && asked "pinned: true" && out_has "checkpoint 7@9000.2: VERIFIED, pinned" &&
    err_has "wafer: ckpt pin: no checkpoint 7@1: wafer ckpt ls 7 lists them"
ok "ckpt pin goes on after one that is refused, and exits with its code"

cat >"$folder/prune" <<'END'
--- checkpoint_prune
checkpoints: {schema: x, items: [{id: 7@100.1, state: VERIFIED, bytes: 1048576, detail: older than the last 3}]}
END
COLUMNS=120 run prune ckpt prune 7 --dry-run
exits 0 && asked "dry_run: true" && out_has "older than the last 3" && out_has "1 checkpoint, 1.0 MiB"
ok "ckpt prune --dry-run lists why"

cat >"$folder/systems" <<'END'
--- system_list
systems:
  schema: x
  items:
    - {name: s0, pool: wafer, platform: cs3, host: sim-0, state: UP, job: 7, since: 2026-01-15T08:00:00Z}
    - {name: s1, pool: wafer, platform: cs3, host: sim-0, state: DOWN, since: 2026-01-15T08:00:00Z, reason: "crash, asked by root"}
    - {name: g0, pool: gpu, platform: h100x8, host: sim-0, state: UP, drained: true}
END
run systems system ls
exits 0 && out_is <<'END'
SYSTEM  POOL   PLATFORM  STATE       JOB  REASON
s0      wafer  cs3       UP            7  -
s1      wafer  cs3       DOWN          -  crash, asked by root
g0      gpu    h100x8    UP drained    -  -
3 systems, 1 busy
END
ok "system ls at 80 columns"

cat >"$folder/fault" <<'END'
--- system_fault
systems: {schema: x, items: [{name: s1, state: UP}]}
END
run fault system fault s1 crash --for 10m
exits 0 && asked "name: s1" && asked "for: 10m" && out_has "system s1: crash ordered, was UP" &&
    run fault system heal s1 && asked "heal: true" && out_has "system s1: heal ordered, was UP"
ok "system fault and heal"

# B30: stored bytes that command a terminal
cat >"$folder/hostile" <<'END'
--- show
show:
  job: {id: 7, name: "\e[2J\a\r", title: "two\nlines", uid: 0, state: HELD, reason: {code: HeldUser, detail: "\e]0;owned\a"}}
  events:
    - {sequence: 1, at: 2026-01-15T08:00:00Z, kind: JOB_HELD, text: "\u202Eback\r\e[1A"}
END
run hostile show 7
exits 0 && ! grep -q "$(printf '[\001-\010\013-\037]')" "$folder/out" &&
    out_has 'job 7  \x1b[2J\x07\r  HELD' && out_has 'two\nlines' && out_has '\u202eback\r\x1b[1A'
ok "control characters of stored fields are shown, not obeyed (B30)"

cat >"$folder/refusal" <<'END'
--- show
error: {code: E_DENIED, exit: 77, message: "no job 7\e[2J", field: target, hint: "'wafer ls' lists yours"}
END
run refusal show 7
exits 77 && printf '%s\n' "wafer: show: target: no job 7\\x1b[2J: 'wafer ls' lists yours" | err_is &&
    run refusal show 7 -o json && exits 77 &&
    [ "$(jq -r '.code + " " + (.exit | tostring) + " " + .field' "$folder/err")" = "E_DENIED 77 target" ]
ok "what the controller refuses is one line with its fix, or an ErrorItem"

documents_match
