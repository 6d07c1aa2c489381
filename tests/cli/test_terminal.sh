#!/bin/sh
# What only a terminal sees: the block of --follow, the list of --watch, questions, filtered logs.
. "${top_srcdir:?}/tests/cli/lib.sh"
if ! command -v script >/dev/null; then
    echo "1..0 # SKIP script(1) of util-linux is needed for a terminal"
    exit 0
fi
plan 21
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

cat >"$folder/top" <<'END'
--- list
jobs:
  schema: x
  total: 4
  items:
    - {id: 7, name: zebra, uid: 0, queue: prod, state: PENDING, reason: {code: Resources}}
    - {id: 8, name: beta, uid: 0, queue: prod, state: RUNNING, phase: EXECUTE, systems: {allocated: [s0, s1]}, progress: {step: 500, max_steps: 1000, loss: 2.5, eta_s: 90}}
    - {id: 9, name: alpha, uid: 0, queue: gpu, state: RUNNING, phase: LOAD, systems: {allocated: [g0]}, progress: {step: 0, max_steps: 10}}
    - {id: 10, name: held, uid: 0, queue: prod, state: HELD, reason: {code: HeldUser}}
--- system_list
systems: {schema: x, items: [{name: s0, pool: wafer, state: UP, job: 8}, {name: s1, pool: wafer, state: UP, job: 8}, {name: s2, pool: wafer, state: UP, drained: true}, {name: s3, pool: wafer, state: DOWN}, {name: g0, pool: gpu, state: UP, job: 9}, {name: g1, pool: gpu, state: UP}]}
END
run top top
exits 0 && out_is <<'END'
systems
  wafer        ██▒×  2 of 4 busy, 1 drained, 1 down
  gpu          █░    1 of 2 busy, 1 free
queues
  gpu          1 running, 0 pending
  prod         1 running, 1 pending (1 Resources), 1 held
JOBID  NAME   SYS  STATE    PHASE    PROGRESS          ENDS IN  REASON
8      beta     2  RUNNING  EXECUTE  █████░░░░░  50%  00:01:30  -
9      alpha    1  RUNNING  LOAD     ░░░░░░░░░░   0%         -  -
7      zebra    0  PENDING  -        -                       -  Resources
10     held     0  HELD     -        -                       -  HeldUser
4 shown · by state
END
ok "top without a terminal prints once: systems, queues, jobs"

LC_ALL=C run top top --queue gpu --no-header
exits 0 && ! LC_ALL=C grep -q '[^ -~]' "$folder/out" && out_has "[##d!]" && out_has "> gpu" &&
    out_has "1 shown of 4, by state" && ! out_has beta
ok "top of one queue, in ASCII where the locale is"

alone top -o json
exits 64 && err_has "top is a screen"
ok "top has no other formats"

on_terminal top top q
exits 0 && out_has "${esc}[?1049h" && out_has "${esc}[?1049l" && out_has "${esc}[?25h" &&
    out_has "> " && out_has "8      beta" && out_has "q quit"
ok "top on a terminal has a screen of its own, gives it back, and ends with q"

{ for keys in 'jj' '\033[A' 'l' 's' 'r' 'q'; do sleep 0.1; printf '%b' "$keys"; done; } |
    script -qec "$fake $folder/top $wafer top" /dev/null >"$folder/out" 2>&1
status=$?
exits 0 && out_has ">  9      alpha" && out_has "by state" && out_has "1 shown of 4" && out_has "by name" && out_has "by name, downwards"
ok "keys and arrows select, turn queues, and sort"

NO_COLOR=1 on_terminal top top q
exits 0 && ! grep -q "${esc}\[[0-9;]*m" "$folder/out"
ok "NO_COLOR holds for top too"

on_terminal nothing proxy
exits 64 && out_has "a proxy speaks to a program"
ok "a proxy speaks to no person"

# ---- a pager ----

{
    printf -- '--- list\njobs:\n  schema: x\n  items:\n'
    i=0
    while [ $i -lt 1500 ]; do
        i=$((i + 1))
        printf '    - {id: %d, name: a-rather-long-name-for-a-job, state: RUNNING}\n' $i
    done
    printf -- '--- system_list\nsystems: {schema: x, items: []}\n'
} >"$folder/long"
PAGER='sed "s/^/paged: /"' on_terminal long ls
exits 0 && [ "$(grep -c '^paged: ' "$folder/out")" -gt 1500 ] && out_has "paged: ${esc}[1mJOBID"
ok "a list on a terminal goes through the pager"
PAGER='head -n 2' on_terminal long ls
exits 0 && [ "$(wc -l <"$folder/out")" -eq 2 ]
ok "who leaves it early has seen enough: that is no error"
PAGER='cat; exit 3' on_terminal long ls
exits 0 && [ "$(wc -l <"$folder/out")" -gt 1500 ]
ok "how it ends is not how wafer ends"
PAGER=no-such-program on_terminal long ls
exits 0 && [ "$(wc -l <"$folder/out")" -gt 1500 ]
ok "without one that is there nothing is lost"
PAGER='sed "s/^/paged: /"' on_terminal submit "submit $folder/job.yaml" && ! out_has 'paged: ' &&
    PAGER='sed "s/^/paged: /"' run long ls && ! out_has 'paged: '
ok "what is brief does without, and so does what no terminal reads"
