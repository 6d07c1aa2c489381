#!/bin/sh
# What only a terminal sees: the block of --follow, the list of --watch, questions, filtered logs.
. "${top_srcdir:?}/tests/cli/lib.sh"
if ! command -v script >/dev/null; then
    echo "1..0 # SKIP script(1) of util-linux is needed for a terminal"
    exit 0
fi
plan 9
esc=$(printf '\033')

# on_terminal SCRIPT "ARGUMENTS" [input]: all that the terminal got, in $folder/out
on_terminal() {
    : >"$folder/err"
    printf '%b' "${3-}" | script -qec "$fake $folder/$1 $wafer $2" /dev/null >"$folder/out" 2>&1
    status=$?
}

printf 'apiVersion: wafer/v1\nkind: Job\nname: gpt\nworkload: {model: {params: 1e9}, batch: 8, steps: 1000}\n' \
    >"$folder/job.yaml"

cat >"$folder/follow" <<'END'
--- submit
job: {id: 7, name: gpt, state: PENDING}
--- watch
more: true
job: {id: 7, name: gpt, state: RUNNING, attempt: 1, phase: EXECUTE, systems: {allocated: [s0]}, progress: {step: 500, max_steps: 1000, loss: 8.1, samples_per_s: 12, eta_s: 90}}
--- more
job: {id: 7, name: gpt, state: SUCCEEDED, attempt: 1, progress: {step: 1000, max_steps: 1000}}
END
on_terminal follow "submit --follow $folder/job.yaml"
exits 0 && out_has "███████████████░░░░░░░░░░░░░░░  50%  step 500 of 1,000  ends in 00:01:30" &&
    out_has "attempt 1  loss 8.1000  12.0 samples/s" && out_has "${esc}[4A" &&
    out_has "job 7 gpt: SUCCEEDED" && out_has "Ctrl-C leaves the job running"
ok "--follow draws a block and erases it"

LC_ALL=C on_terminal follow "submit --follow $folder/job.yaml"
out_has "[###############---------------]  50%"
ok "the block is ASCII where the locale is"

TERM=dumb on_terminal follow "submit --follow $folder/job.yaml"
exits 0 && ! out_has "$esc" && out_has "job 7: 50%  step 500 of 1,000"
ok "a dumb terminal gets lines"

NO_COLOR=1 on_terminal follow "submit --follow $folder/job.yaml"
exits 0 && ! grep -q "${esc}\[[0-9]*m" "$folder/out"
ok "NO_COLOR takes the colour away"

cat >"$folder/submit" <<'END'
--- submit
job: {id: 7, name: gpt, state: PENDING}
END
on_terminal submit "submit $folder/job.yaml"
exits 0 && out_has "next: wafer show 7 | wafer logs -f 7 | wafer cancel 7"
ok "after submit a terminal gets the next commands"

cat >"$folder/watch" <<'END'
--- list
more: true
jobs: {schema: x, items: [{id: 7, name: gpt, state: RUNNING}, {id: 8, name: old, state: RUNNING}]}
--- more
more: true
jobs: {schema: x, items: [{id: 8, name: old, state: SUCCEEDED}]}
--- more
jobs: {schema: x, items: [{id: 9, name: new, state: PENDING}]}
END
on_terminal watch "ls --watch=10m"
exits 0 && out_has "${esc}[H${esc}[J" && tail -n 4 "$folder/out" | grep -q "^9 .*new" &&
    out_has "2 of 2 shown" && ! tail -n 4 "$folder/out" | grep -q old
ok "ls --watch draws the list again without what has ended"

cat >"$folder/cancel" <<'END'
--- cancel
job: {id: 7, name: a, state: CANCELLED}
--- cancel
job: {id: 8, name: b, state: CANCELLED}
END
on_terminal cancel "cancel 7 8" 'y\n'
exits 0 && out_has "wafer: cancel 2 jobs? [y/N]" && out_has "job 8 b: CANCELLED"
ok "several jobs are asked about on a terminal"

printf '' >"$folder/nothing"
on_terminal nothing "cancel 7 8" 'n\n'
exits 130 && out_has "nothing was changed"
ok "no means that nothing is changed"

printf -- '--- logs\nlog: {attempt: 1, text: 1b5b324a6f6b0d0a}\n' >"$folder/logs"
on_terminal logs "logs 7"
exits 0 && out_has '\x1b[2Jok\r' && ! out_has "$esc" && on_terminal logs "logs 7 --raw" && out_has "${esc}[2Jok"
ok "logs to a terminal are filtered unless --raw (B30)"
