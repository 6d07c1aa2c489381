#!/bin/sh
# Verbs that explain, compare, change and report: what is asked of the controller, and shown.
. "${top_srcdir:?}/tests/cli/lib.sh"
plan 31

# ---- update ----

cat >"$folder/update" <<'END'
--- update
job: {id: 7, name: gpt, state: PENDING, version: 4, reason: {code: Priority, detail: "job 3 is ahead of it"}}
END
run update update 7 --set limit=2h --set labels.team=nlp --if-version 3
exits 0 && echo "job 7 gpt: PENDING: Priority: job 3 is ahead of it" | out_is &&
    asked limit=2h && asked labels.team=nlp && asked "if_version: 3"
ok "update sends its assignments, and shows the job as it now is"

cat >"$folder/raced" <<'END'
--- update
error: {code: E_VERSION, exit: 75, message: "job 7 has version 5, not 3: look at it again"}
END
run raced update 7 --set limit=2h --if-version 3
exits 75 && echo "wafer: update: job 7 has version 5, not 3: look at it again" | err_is
ok "update of what somebody else has changed exits with 75"

alone update 7
exits 64 && err_has "nothing to change: --set KEY=VALUE"
ok "update without --set is wrong usage"

alone update 7 --set limit=2h --if-version three
exits 64 && err_has "--if-version: 'three' is not a whole number"
ok "a version is a number"

# ---- queues, and systems that are drained ----

cat >"$folder/queues" <<'END'
--- queue_list
queues: {schema: wafer.queue.list/v1, generated_at: "2026-01-15T09:00:00Z", total: 2, items: [
  {name: wafer, pool: wafer, platform: cs3, stopped: true, reason: upgrade, pending: 3, held: 1, running: 2, systems: 4, busy: 2, free: 1, drained: 1, down: 0, limit_max_s: 86400},
  {name: gpu, pool: gpu, platform: h100x8, stopped: false, pending: 0, held: 0, running: 0, systems: 2, busy: 0, free: 2, drained: 0, down: 0}]}
END
run queues queue ls
exits 0 && out_is <<'END'
QUEUE  PLATFORM  STATE    PENDING  HELD  RUNNING  SYSTEMS      REASON
wafer  cs3       stopped        3     1        2  1 of 4 free  upgrade
gpu    h100x8    started        0     0        0  2 of 2 free  -
2 queues
END
ok "queue ls shows jobs, systems, and why one is stopped"

COLUMNS=120 run queues queue ls
exits 0 && out_has "SYSTEMS       MAX LIMIT  REASON" && out_has "1 of 4 free  1-00:00:00  upgrade"
ok "and where there is room how long a job may take"

run queues queue ls -o plain
exits 0 && [ "$(cut -f 1,4,5,9,14 "$folder/out" | head -1)" = "wafer	stopped	3	2	upgrade" ]
ok "queue ls -o plain has a line for each"

cat >"$folder/stop" <<'END'
--- queue
queues: {schema: wafer.queue.list/v1, total: 1, items: [{name: wafer, stopped: true, reason: upgrade}]}
END
run stop queue stop wafer --reason upgrade
exits 0 && echo "queue wafer: stopped: upgrade" | out_is && asked "stopped: true" && asked "reason: upgrade"
ok "queue stop sends the reason, and tells what it is now"

cat >"$folder/start" <<'END'
--- queue
queues: {schema: wafer.queue.list/v1, total: 1, items: [{name: wafer, stopped: false}]}
END
run start queue start wafer -o json
exits 0 && asked "stopped: false" && [ "$(jq -r '.schema + " " + (.item.stopped | tostring)' "$folder/out")" = "wafer.queue/v1 false" ]
ok "queue start -o json is a QueueItem"

cat >"$folder/drain" <<'END'
--- system_drain
systems: {schema: wafer.system.list/v1, total: 1, items: [{name: s1, state: UP, drained: true, drain_reason: "NaN suspect", job: 7}]}
END
run drain system drain s1 --reason "NaN suspect"
exits 0 && echo "system s1: drained: NaN suspect; job 7 runs there to its end" | out_is &&
    asked "drained: true" && asked "NaN suspect"
ok "system drain says what goes on there"

# ---- reservations ----

cat >"$folder/reservations" <<'END'
--- reservation_list
reservations: {schema: wafer.reservation.list/v1, generated_at: "2026-01-15T09:00:00Z", total: 2, items: [
  {name: night, pool: wafer, calendar: {start: "2026-01-01T02:00", zone: Europe/Berlin, duration: 2h, every: daily}, windows: [{from: "2026-01-16T01:00:00Z", until: "2026-01-16T03:00:00Z"}], reason: checks, count: 4},
  {name: course, pool: wafer, systems: [s1, s2], hosts: [h1], uids: [0], calendar: {start: "2026-01-19T13:00:00Z", duration: 3h, every: once}, windows: [], count: 3}]}
END
run reservations resv ls --tz UTC -o plain
exits 0 && out_is <<'END'
night	wafer	all of wafer	4	-	2026-01-16T01:00:00Z	2026-01-16T03:00:00Z	daily from 2026-01-01T02:00 Europe/Berlin for 2h	checks
course	wafer	s1,s2,host h1	3	root	-	-	once from 2026-01-19T13:00:00Z for 3h	-
END
ok "resv ls -o plain has a line for each, with its next window"

cat >"$folder/reserve" <<'END'
--- reservation_new
reservations: {schema: wafer.reservation.list/v1, total: 1, items: [{name: m, pool: wafer, systems: [s1], calendar: {start: "2026-01-19T13:00", zone: UTC, duration: 1h30m, every: weekly, on: [mon, thu]}, count: 1, running: [7]}]}
END
run reserve resv new m --start 2026-01-19T13:00 --zone UTC --for 90m --every weekly --on mon,thu --until 2026-03-01T00:00:00Z \
    --systems s1 --hosts h1,h2 --users root --reason why --force
exits 0 && out_is <<'END' && asked 'every: weekly' && asked 'zone: UTC' && asked 'force: true' && asked h2 && asked 2026-03-01
reservation m: s1, weekly Mon Thu from 2026-01-19T13:00 UTC for 1h30m (1 system)
job 7 runs there and goes on to its end
END
ok "resv new sends when, where and for whom, and tells who still runs there"

alone resv new m --for 1h
exits 64 && err_has "--start TIME and --for DUR" && alone resv new m --start 2026-01-19T13:00 --for 1h --on mon,someday
exits 64 && err_has "--on: 'someday' is none of mon, tue, wed" && alone resv new m --start x --for 1h --users nobody-of-that-name
exits 64 && err_has "there is no user 'nobody-of-that-name'"
ok "what a reservation is to be is checked before it is sent"

cat >"$folder/unreserve" <<'END'
--- reservation_remove
reservations: {schema: wafer.reservation.list/v1, total: 1, items: [{name: m}]}
END
run unreserve resv rm m --reason over
exits 0 && echo "reservation m: removed" | out_is && asked "reason: over"
ok "resv rm sends the reason"

# ---- report ----

cat >"$folder/report" <<'END'
--- report
report:
  job: {id: 7, name: gpt, user: ada, state: SUCCEEDED, cause: FINISHED, attempt: 2, submitted_at: "2026-01-15T09:00:00Z", ended_at: "2026-01-15T10:00:00Z", progress: {step: 3000, max_steps: 3000}, cost: {system_s: 3000, amount: "1.50", currency: EUR, estimated: false}}
  attempts:
    - {attempt: 1, epoch: 1, systems: [s1, s2], cause: SYSTEM_LOST, ended_at: "2026-01-15T09:30:00Z", first_step: 0, last_step: 1200, steps_lost: 200, time: {total_s: 1800, held_s: 0, queue_s: 60, backoff_s: 0, launch_s: 5, unknown_s: 1735}}
    - {attempt: 2, epoch: 2, systems: [s3], cause: FINISHED, ended_at: "2026-01-15T10:00:00Z", first_step: 1000, last_step: 3000, time: {total_s: 1800, held_s: 0, queue_s: 0, backoff_s: 10, launch_s: 5, compile_s: 100, load_s: 85, execute_s: 1500, checkpoint_s: 90, cleanup_s: 10, unknown_s: 0}, cost: {system_s: 1785, amount: "0.90", currency: EUR, estimated: false}}
  time: {total_s: 3600, held_s: 0, queue_s: 60, backoff_s: 10, launch_s: 10, compile_s: 100, load_s: 85, execute_s: 1500, checkpoint_s: 90, cleanup_s: 10, unknown_s: 1735}
  steps_lost: 200
END
run report report 7
exits 0 && out_has "# job 7 gpt: SUCCEEDED" && out_has "- step 3000 of 3000, 200 steps lost" &&
    out_has "| execute | 00:25:00 |" && out_has "| all | 01:00:00 |" &&
    out_has "| lost: of execute, done again | n/a |" && out_has "| 1 | s1 s2 | 0 to 1200 | 200 |" &&
    grep -q "^| 1 .*00:00:05 | n/a | n/a | n/a | n/a | n/a | 00:28:55 | 00:30:00 | n/a | n/a | SYSTEM_LOST |$" "$folder/out"
ok "report says n/a for what is not known"

run report show 7 --attempts
exits 0 && grep -Eq '^7 +1 +- +s1 s2 .* 0 to 1200 +200  SYSTEM_LOST$' "$folder/out" &&
    grep -Eq '^7 +2 .* 1000 to 3000 .*FINISHED$' "$folder/out" && [ "$(wc -l <"$folder/out")" -eq 3 ]
ok "show --attempts has a row for each"

run report report 7 --format csv
exits 0 && [ "$(wc -l <"$folder/out")" -eq 4 ] && [ "$(awk -F, '{ print NF }' "$folder/out" | sort -u)" = 26 ] &&
    [ "$(sed -n 3p "$folder/out" | cut -d, -f 1,3,19,25)" = "7,2,1500,0.90" ]
ok "report --format csv has a line for each attempt, and one for all"

run report report 7 --format json
exits 0 && [ "$(jq -c '[.schema, .items[0].attempts[0].time.execute_s, .items[0].time.execute_s]' "$folder/out")" = '["wafer.report/v1",null,1500]' ]
ok "report --format json has null for what is not known"

# ---- quotas ----

cat >"$folder/quotas" <<'END'
--- quota_show
quotas: {schema: wafer.quota.list/v1, generated_at: "2026-01-15T09:00:00Z", total: 2, truncated: false, items: [
  {kind: USER, uid: 0, running: 3, systems_used: 7, systems_max: 8, pending: 2},
  {kind: PROJECT, name: nlp, running: 1, systems_used: 4, systems_max: 4, pending: 0, pending_max: 10, array_max: 5, limit_max_s: 7200, limit_default_s: 3600},
  {kind: PROJECT, name: vision, running: 0, systems_used: 0, pending: 0, system_s: 7199, system_max_s: 360000, system_window_s: 2592000, cost: "54.00", budget_soft: "80.00", budget_hard: "100.00", currency: EUR, budget_window_s: 86400}]}
END
COLUMNS=120 run quotas quota show
exits 0 && out_is <<'END'
KIND     NAME    SYSTEMS  RUNNING  PENDING  ARRAY  MAX LIMIT   DEFAULT            HOURS                      SPENT
user     root     7 of 8        3        2      -          -         -                -                          -
project  nlp      4 of 4        1  0 of 10      5   02:00:00  01:00:00                -                          -
project  vision        0        0        0      -          -         -  1 of 100 in 30d  54.00 of 100.00 EUR in 1d
END
ok "quota show tells what is used of what there may be"

run quotas quota show nlp -o plain
exits 0 && printf 'user\troot\t3\t7\t8\t2\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\nproject\tnlp\t1\t4\t4\t0\t10\t5\t7200\t3600\t-\t-\t-\t-\t-\t-\t-\t-\nproject\tvision\t0\t0\t-\t0\t-\t-\t-\t-\t7199\t360000\t2592000\t54.00\t80.00\t100.00\tEUR\t86400\n' | out_is && asked "project: nlp"
ok "quota show NAME -o plain has a line for each"

run quotas quota show root -o json
exits 0 && [ "$(jq -c '[.items[0].name, .items[0].pending_max]' "$folder/out")" = '["root",null]' ] && asked "uid: 0"
ok "a user is asked for by name, and named in the answer"

# ---- whoami ----

cat >"$folder/whoami" <<'END'
--- whoami
whoami: {uid: 0, gid: 0, roles: [operator, admin], clearance: internal, limits: {connections: 16, job_file_bytes: 1048576, array_elements: 100000, systems: 2048}}
END
run whoami whoami
exits 0 && out_has "root  uid 0  gid 0" && out_has "roles       operator, admin" && out_has "clearance   internal" &&
    out_has "16 connections"
ok "whoami shows what the controller says"

# ---- explain ----

cat >"$folder/explain" <<'END'
--- explain
explanation:
  job: {id: 7, name: gpt, state: PENDING, pool: wafer, systems: {requested: 2, min: 1}, reason: {code: Resources, since: "2026-01-15T09:00:00Z", detail: "needs 2 systems of one host, 1 free", blockers: [{kind: job, id: 3}], est_start: "2026-01-15T17:40:00Z", est_basis: "time limits; may be earlier"}}
  position: 1
  queued: 6
  systems:
    - {system: s1, use: BUSY, job: 3, until: "2026-01-15T17:40:00Z"}
    - {system: s2, use: FREE}
    - {system: s3, use: DRAINED, reason: "NaN suspect", since: "2026-01-15T08:12:00Z"}
    - {system: s4, use: BUSY}
  checks:
    - {reason: Priority, holds: false, text: "priority (position 1 of 6)"}
    - {reason: RetryBackoff, holds: true, text: "retries (1 failures in a row)"}
  advice:
    - {text: "run on 1 (its min, 1, allows it)", command: "wafer update 7 --set systems.count=1"}
    - {text: "ask an operator about s3"}
END
run explain explain 7
exits 0 && out_is <<'END'
7 gpt PENDING
  reason      Resources: needs 2 systems of one host, 1 free
  since       2026-01-15 09:00:00+00:00
  blocked by  job 3
  systems     needs 2; pool wafer has 4
              1 free (s2)
              2 busy (s1 by job 3 until 2026-01-15 17:40:00+00:00 at most; s4)
              1 drained (s3: NaN suspect, since 2026-01-15 08:12:00+00:00)
  also        retries (1 failures in a row)
  not because priority (position 1 of 6)
  position    1 of 6
  start       by 2026-01-15 17:40:00+00:00 (time limits; may be earlier)
  you can     run on 1 (its min, 1, allows it): wafer update 7 --set systems.count=1
              ask an operator about s3
END
ok "explain shows the reason, the systems, what is not the cause, and what can be done"

run explain explain 7 --fix
exits 0 && echo "wafer update 7 --set systems.count=1" | out_is && err_has "ask an operator about s3"
ok "explain --fix has commands alone on stdout"

run explain explain 7 --start --tz UTC
exits 0 && echo "by 2026-01-15 17:40:00Z (time limits; may be earlier)" | out_is
ok "explain --start is one line"

cat >"$folder/ended" <<'END'
--- explain
explanation:
  job: {id: 7, name: gpt, state: FAILED, cause: RETRY_LIMIT, detail: "s1 is lost", ended_at: "2026-01-15T10:00:00Z"}
  attempts:
    - {attempt: 1, systems: [s1], first_step: 0, last_step: 120, steps_lost: 20, ended_at: "2026-01-15T09:30:00Z", cause: SYSTEM_LOST}
    - {attempt: 2, systems: [s2], first_step: 100, last_step: 130, ended_at: "2026-01-15T10:00:00Z", cause: SYSTEM_LOST, detail: "no word"}
END
run ended explain 7
exits 0 && out_is <<'END'
7 gpt FAILED
  cause       RETRY_LIMIT: s1 is lost
  attempts    1: on s1, step 0 to 120, 20 lost, SYSTEM_LOST
              2: on s2, step 100 to 130, SYSTEM_LOST: no word
END
ok "explain of what has ended has its cause and its attempts"

# ---- diff ----

pair() { # of the second job: LIMIT TOKENS
    cat <<END
--- show
show: {job: {id: 7, name: gpt, state: SUCCEEDED, progress: {step: 100, tokens_per_s: 51200}, cost: {amount: "354.67", currency: EUR}}, spec: {apiVersion: wafer/v1, kind: Job, name: gpt, limit: 12h, data: {inputs: [{id: corpus-v2}]}, program: {env: {SEED: "1"}}}}
--- show
show: {job: {id: 8, name: gpt, state: SUCCEEDED, progress: {step: 100, tokens_per_s: $2}, cost: {amount: "354.67", currency: EUR}}, spec: {apiVersion: wafer/v1, kind: Job, name: gpt, limit: $1, data: {inputs: [{id: corpus-v2}]}, program: {env: {SEED: "1"}}}}
END
}
pair 1d 49800 >"$folder/other"
run other diff 7 8
exits 1 && out_is <<'END'
spec.limit  12h → 1-00:00:00
metrics.tokens_per_s  51200 → 49800  (-2.7%)
2 differ, 9 equal ones hidden (--all)
END
ok "diff shows what differs, and exits with 1"

pair 12h 51200 >"$folder/same"
run same diff 7 8
exits 0 && echo "0 differ, 11 equal ones hidden (--all)" | out_is
ok "diff of what is equal exits with 0"

run other diff 7 8 --only env --all -o plain
exits 0 && printf 'env\tenv.SEED\t1\t1\tyes\n' | out_is
ok "diff --only looks at one section; --all shows what is equal"

run other diff 7 8 --only cost -o json
exits 0 && [ "$(jq -c '[.schema, .a, .b, .different, .equal]' "$folder/out")" = '["wafer.diff/v1",7,8,0,2]' ]
ok "diff -o json counts"

documents_match
