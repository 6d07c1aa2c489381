#!/bin/sh
# Verbs that make, change and await jobs: what is asked of the controller, told, and exited with.
. "${top_srcdir:?}/tests/cli/lib.sh"
plan 39

cat >"$folder/job.yaml" <<'END'
apiVersion: wafer/v1
kind: Job
name: gpt
workload: {model: {params: 1.3e9}, batch: 8, steps: 1000}
END

# ---- submit ----

cat >"$folder/submit" <<'END'
--- submit
job: {id: 7, name: gpt, state: PENDING}
END
run submit submit "$folder/job.yaml"
exits 0 && echo "submitted job 7 gpt" | out_is && printf "" | err_is && grep -q 'key: "\{0,1\}[0-9a-f]\{32\}' "$FAKE_REQUESTS"
ok "submit tells the id, and sends a key of its own"

run submit submit -q --key mine --hold "$folder/job.yaml" && exits 0 && echo 7 | out_is &&
    asked "key: mine" && asked "hold: true"
ok "submit -q prints the id alone; --key and --hold are sent"

run submit submit "$folder/job.yaml" -o json
[ "$(jq -r '.schema + " " + (.item.id | tostring)' "$folder/out")" = "wafer.job/v1 7" ]
ok "submit -o json is a JobItem"

"$fake" "$folder/submit" "$wafer" submit - <"$folder/job.yaml" >"$folder/out" 2>"$folder/err"
ok "submit reads standard input"

run submit submit --name other --priority p1 --systems 2..4 --limit 2h --set stop.max_steps=500 \
    --queue gpu "$folder/job.yaml"
exits 0 && asked "name: other" && asked "priority: p1" && asked "count: 4" && asked "min: 2" &&
    asked "limit: 2h" && asked "max_steps: 500" && asked "queue: gpu"
ok "flags of submit set keys of the job file"

cat >"$folder/array" <<'END'
--- submit
job: {id: 10, array_id: 10, array_index: 0, name: gpt, state: PENDING}
END
run array submit --array 0-3%2 "$folder/job.yaml"
exits 0 && echo "submitted jobs 10 to 13 gpt" | out_is && asked 'array: "0-3%2"'
ok "an array tells all its ids"

printf 'apiVersion: wafer/v1\nkind: Job\nname: gpt\nworklaod: {}\nlimit: 90\n' >"$folder/bad.yaml"
alone submit "$folder/bad.yaml"
exits 65 && err_has "wafer: submit: $folder/bad.yaml:4:1: " && err_has "workload" &&
    err_has "wafer: submit: $folder/bad.yaml:5:" && [ "$(wc -l <"$folder/err")" -eq 2 ]
ok "each error of a job file has a line with its place"

alone submit "$folder/bad.yaml" -o json
exits 65 && [ "$(jq -rs '[.[] | .schema == "wafer.error/v1" and .exit == 65 and (.file | endswith("bad.yaml"))] | all' "$folder/err")" = true ] &&
    [ "$(jq -rs '[.[].line] | contains([4, 5])' "$folder/err")" = true ]
ok "with -o json each is an ErrorItem with file, line and field"

alone submit "$folder/job.yaml" --set workload.batch=many
exits 65 && err_has "workload.batch"
ok "a wrong --set names the key"

head -c 1100000 /dev/zero | tr '\0' '#' >"$folder/big.yaml"
alone submit "$folder/big.yaml"
exits 65 && err_has "more than 1048576 bytes"
ok "a file over the limit is refused before it is read whole"

cat >"$folder/again" <<'END'
--- submit
--- close
--- submit
job: {id: 7, name: gpt, state: PENDING}
END
run again submit "$folder/job.yaml"
exits 0 && echo "submitted job 7 gpt" | out_is &&
    [ "$(grep -c 'key: ' "$FAKE_REQUESTS")" -eq 2 ] && [ "$(grep 'key: ' "$FAKE_REQUESTS" | sort -u | wc -l)" -eq 1 ]
ok "when the connection breaks before the answer, the same key is sent once more"

cat >"$folder/busy" <<'END'
--- submit
error: {code: E_LIMIT, exit: 75, message: "16 connections of one user", hint: retry later}
END
run busy submit "$folder/job.yaml"
exits 75 && echo "wafer: submit: 16 connections of one user: retry later" | err_is
ok "the exit code of a refusal is the controller's"

# ---- submit --wait, --follow ----

ending() { # STATE [more keys]
    cat <<END
--- submit
job: {id: 7, name: gpt, state: PENDING}
--- watch
more: true
job: {id: 7, name: gpt, state: RUNNING, phase: EXECUTE, attempt: 1}
--- more
job: {id: 7, name: gpt, state: $1, attempt: 1$2}
END
}

code=0
for outcome in SUCCEEDED:0 FAILED:1 CANCELLED:3 TIMEOUT:4 LOST:5; do
    ending "${outcome%:*}" "" >"$folder/ending"
    run ending submit --wait "$folder/job.yaml"
    exits "${outcome#*:}" || { code=1; break; }
done
[ $code -eq 0 ]
ok "submit --wait exits with the outcome"

cat >"$folder/follow" <<'END'
--- submit
job: {id: 7, name: gpt, state: PENDING}
--- watch
more: true
job: {id: 7, name: gpt, state: PENDING, reason: {code: Resources, detail: "needs 1, free 0"}}
--- more
more: true
job: {id: 7, name: gpt, state: STARTING, attempt: 1, phase: COMPILE, systems: {allocated: [s0]}}
--- more
more: true
job: {id: 7, name: gpt, state: RUNNING, attempt: 1, phase: EXECUTE, systems: {allocated: [s0]}, progress: {step: 100, max_steps: 1000, loss: 8.1, samples_per_s: 12, eta_s: 90}}
--- more
more: true
job: {id: 7, name: gpt, state: RUNNING, attempt: 1, phase: EXECUTE, systems: {allocated: [s0]}, progress: {step: 150, max_steps: 1000}, checkpoint: {last_good_id: 7@150.1, last_good_step: 150, bytes: 1048576, verified: true}}
--- close
--- watch
more: true
job: {id: 7, name: gpt, state: RUNNING, attempt: 2, phase: EXECUTE, systems: {allocated: [s1]}, progress: {step: 150, max_steps: 1000}, checkpoint: {last_good_id: 7@150.1, last_good_step: 150, bytes: 1048576, verified: true}}
--- more
job: {id: 7, name: gpt, state: SUCCEEDED, attempt: 2, steps_lost: 12, progress: {step: 1000, max_steps: 1000}, checkpoint: {last_good_id: 7@150.1, last_good_step: 150, bytes: 1048576, verified: true}, result: {final_step: 1000, state_digest: ab12}}
END
run follow submit --follow "$folder/job.yaml"
exits 0 && echo "submitted job 7 gpt" | out_is && err_is <<'END'
job 7 gpt: PENDING: Resources: needs 1, free 0
job 7 gpt: STARTING COMPILE on s0
job 7 gpt: RUNNING EXECUTE on s0
job 7: 10%  step 100 of 1,000  loss 8.1000  12.0 samples/s  ends in 00:01:30
job 7: checkpoint at step 150 verified, 1.0 MiB
job 7: attempt 2 from step 150
job 7: 100%  step 1,000 of 1,000
job 7 gpt: SUCCEEDED, 2 attempts, 12 steps lost, at step 1,000, digest ab12
END
ok "submit --follow tells a line for each change, across a restart of the controller"

run follow submit --follow "$folder/job.yaml" -o json
exits 0 && [ "$(jq -c '[.schema, .item.state]' "$folder/out" | tail -n 1)" = '["wafer.job/v1","SUCCEEDED"]' ] &&
    [ "$(wc -l <"$folder/out")" -eq 7 ]
ok "submit --follow -o json is a document a line"

cat >"$folder/interrupt" <<'END'
--- submit
job: {id: 7, name: gpt, state: PENDING}
--- watch
more: true
job: {id: 7, name: gpt, state: PENDING}
--- interrupt
END
run interrupt submit --follow "$folder/job.yaml"
exits 130 && err_has "interrupted: the job goes on"
ok "Ctrl-C leaves the job running, and says so"

run interrupt submit --wait --timeout 1s "$folder/job.yaml"
exits 130
ok "Ctrl-C comes before a deadline that is far"

# ---- wait ----

cat >"$folder/wait" <<'END'
--- watch
more: true
job: {id: 7, state: RUNNING}
--- watch
more: true
job: {id: 8, state: RUNNING}
--- watch
error: {code: E_DENIED, exit: 77, message: "no job 9"}
--- more 2
job: {id: 8, state: FAILED}
--- more 1
job: {id: 7, state: SUCCEEDED}
END
run wait wait 7 8 9
exits 1 && printf 'job 8: FAILED\njob 7: SUCCEEDED\n' | out_is && echo "wafer: wait: no job 9" | err_is
ok "wait for several exits with the first outcome that is not 0, in their order"

cat >"$folder/any" <<'END'
--- watch
more: true
job: {id: 7, state: RUNNING}
--- watch
job: {id: 8, state: CANCELLED}
END
run any wait 7 8 --any
exits 3 && echo "job 8: CANCELLED" | out_is
ok "wait --any ends with the first"

cat >"$folder/slow" <<'END'
--- watch
more: true
job: {id: 7, state: RUNNING}
END
run slow wait 7 --timeout 0.2s
exits 6 && err_has "not ended within --timeout: the job goes on"
ok "wait --timeout exits 6"

printf '7\tgpt\troot\n\n8\n' >"$folder/ids"
"$fake" "$folder/any" "$wafer" wait - --any -q <"$folder/ids" >"$folder/out" 2>"$folder/err"
status=$?
exits 3 && [ ! -s "$folder/out" ]
ok "wait - reads ids from standard input, the first word of each line"

cat >"$folder/early" <<'END'
--- watch
job: {id: 7, state: RUNNING}
END
run early wait 7
exits 70 && err_has "stopped telling before the job had ended"
ok "a watch that ends early is not taken for a success"

cat >"$folder/lingers" <<'END'
--- watch
more: true
job: {id: 7, state: SUCCEEDED}
END
run lingers wait 7
exits 0
ok "the end of the job ends the wait, also when the stream goes on for its checkpoints"

i=0
while [ $i -lt 200 ]; do
    i=$((i + 1))
    printf -- '--- watch\njob: {id: %d, state: SUCCEEDED}\n' $i
done >"$folder/many"
run many wait -q $(seq 200)
exits 0
ok "two hundred jobs are awaited in windows"

# ---- changes ----

cat >"$folder/cancel" <<'END'
--- cancel
job: {id: 7, name: gpt, state: STOPPING, cause: CANCELLED, detail: "wrong data"}
END
run cancel cancel 7 --reason "wrong data" --grace 5m
exits 0 && echo "job 7 gpt: STOPPING: CANCELLED: wrong data" | out_is && asked 'reason: "wrong data"' &&
    asked "grace: 5m" && run cancel cancel 7 --now && asked "now: true" && exits 0
ok "cancel tells the true state"
printf '%s\n' '--- cancel' 'job: {id: 7, name: gpt, state: RUNNING}' >"$folder/dry"
run dry cancel 7 --dry-run
exits 0 && asked "dry_run: true" &&
    echo 'job 7 gpt would be cancelled: it is RUNNING, and may save a checkpoint first' | out_is
ok "with --dry-run it tells what it would do"

cat >"$folder/two" <<'END'
--- cancel
job: {id: 7, name: a, state: CANCELLED, cause: CANCELLED}
--- cancel
error: {code: E_ENDED, exit: 1, message: "job 8 has already ended"}
--- cancel
job: {id: 9, name: c, state: CANCELLED, cause: CANCELLED, detail: "wrong data"}
END
run two cancel --yes 7 8 9
exits 1 && printf 'job 7 a: CANCELLED\njob 9 c: CANCELLED: wrong data\n' | out_is &&
    echo "wafer: cancel: job 8 has already ended" | err_is
ok "one refusal does not hide the others"

run two cancel -y 7 8 9 -o json
exits 1 && [ "$(jq -c '[.schema, .total, [.items[].id]]' "$folder/out")" = '["wafer.job.list/v1",2,[7,9]]' ]
ok "several changes are one JobList"

for verb in hold release requeue; do
    printf -- '--- %s\njob: {id: 7, name: gpt, state: HELD}\n' $verb >"$folder/change"
    run change $verb 7
    exits 0 && asked "$verb:" && echo "job 7 gpt: HELD" | out_is || break
done
ok "hold, release, requeue"

run change requeue sweep_2
exits 0 && asked "name: sweep_2"
ok "a target may be a name"

cat >"$folder/resume" <<'END'
--- resume
job: {id: 9, name: gpt, state: PENDING, resumed_from: 7, checkpoint: {last_good_step: 300}}
END
run resume resume 7 --from 300 --systems 2 --pool gpu
exits 0 && echo "job 9 gpt: PENDING, goes on from job 7, checkpoint at step 300" | out_is &&
    asked 'from: "300"' && asked "systems: 2" && asked "pool: gpu" && asked "key: "
ok "resume of an ended job names the new one"

# ---- logs, events ----

hex() { printf '%s' "$1" | od -An -tx1 | tr -d ' \n'; }
cat >"$folder/logs" <<END
--- logs
more: true
log: {attempt: 1, text: $(hex "step 1
")}
--- more
more: true
log: {attempt: 1, missed_bytes: 70}
--- more
log: {attempt: 2, text: $(hex "step 2
")}
END
run logs logs 7 --tail 5 --attempt all
exits 0 && printf 'step 1\nstep 2\n' | out_is && asked "tail: 5" &&
    echo "wafer: logs: 70 bytes were missed: this reader was too slow" | err_is
ok "logs prints the bytes, and tells what was missed on stderr"

cp "$folder/logs" "$folder/logs-f"
printf -- '--- watch\njob: {id: 7, state: TIMEOUT}\n' >>"$folder/logs-f"
run logs-f logs -f 7
exits 4 && printf 'step 1\nstep 2\n' | out_is && asked "follow: true"
ok "logs -f ends with the job and exits with its outcome"

cat >"$folder/logs-again" <<END
--- logs
more: true
log: {attempt: 2, offset: 70, text: $(hex "step 1
")}
--- close
--- logs
log: {attempt: 2, offset: 77, text: $(hex "step 2
")}
--- watch
job: {id: 7, state: SUCCEEDED}
END
run logs-again logs -f --tail 1 7
exits 0 && printf 'step 1\nstep 2\n' | out_is && asked "from_attempt: 2" && asked "from_offset: 77" && printf '' | err_is
ok "logs -f goes on where it was when the controller comes back"

run logs logs -f 7.2
exits 0 && asked "attempt: 2"
ok "logs -f of one attempt has no outcome"

cat >"$folder/events" <<'END'
--- events
events:
  schema: x
  items:
    - {sequence: 5, at: 2026-01-15T08:00:00Z, kind: JOB_SUBMITTED, job: 7, uid: 0}
    - {sequence: 6, at: 2026-01-15T08:00:01Z, kind: JOB_STARTED, job: 7, system: s0, text: "attempt 1"}
END
run events events -n 2
exits 0 && asked "limit: 2" && out_is <<'END'
2026-01-15 08:00:00+00:00  JOB_SUBMITTED         job 7  by root
2026-01-15 08:00:01+00:00  JOB_STARTED           job 7  s0  attempt 1
END
ok "events are a line each: when, what, to whom, by whom"

run events events 7 -o json
[ "$(jq -c '[.schema, (.items | length)]' "$folder/out")" = '["wafer.event.list/v1",2]' ] &&
    run events events 7 -o plain && [ "$(cut -f 3 "$folder/out" | tr '\n' ' ')" = "JOB_SUBMITTED JOB_STARTED " ]
ok "events -o json is an EventList, -o plain a record each"

cat >"$folder/events-f" <<'END'
--- events
more: true
events: {schema: x, items: [{sequence: 5, at: 2026-01-15T08:00:00Z, kind: JOB_SUBMITTED, job: 7}]}
--- close
--- events
more: true
missed: 3
events: {schema: x, items: [{sequence: 5, at: 2026-01-15T08:00:00Z, kind: JOB_SUBMITTED, job: 7}, {sequence: 6, at: 2026-01-15T08:00:01Z, kind: JOB_ENDED, job: 7}]}
--- watch
job: {id: 7, state: TIMEOUT}
END
run events-f events -f 7 -o plain
exits 4 && [ "$(cut -f 1 "$folder/out" | tr '\n' ' ')" = "5 6 " ] && err_has "3 events were missed"
ok "events -f goes on after a restart of the controller without repeating, and ends with the job as it did"

documents_match
