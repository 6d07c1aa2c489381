#!/bin/sh
# Verbs that explain, compare, change and report: what is asked of the controller, and shown.
. "${top_srcdir:?}/tests/cli/lib.sh"
plan 4

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
