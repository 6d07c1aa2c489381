#!/bin/sh
# Who may do what, as different users on the real socket: their own, their project's, all, and what
# they are told of the rest.
# shellcheck disable=SC1091,SC2154,SC2034,SC2015,SC2181,SC2086 # lib.sh has what is missing here; a command and its words
. "${top_srcdir:=$(dirname "$0")/../..}/tests/e2e/lib.sh"

if [ "$(id -u)" -ne 0 ] || ! command -v setpriv >/dev/null 2>&1; then
    echo '1..0 # SKIP only root can be several users (setpriv)'
    exit 0
fi

# Users by number alone: none of them needs an account.
anna=4001 bert=4002 carl=4003 operator=4004 auditor=4005 dora=4006 nlp=4050
chmod 711 "$folder"
cp "$top_builddir/wafer" "$folder/wafer" && chmod 755 "$folder/wafer"

rules() { # rules SERIAL [LINE...]
    sed '/^serial:/d; /^bindings:/,$d' "$top_srcdir/policies/roles.yaml"
    cat <<END
serial: $1
bindings:
  - {role: engineer, uids: [$anna, $carl, $dora]}
  - {role: member, gids: [$nlp], projects: [nlp]}
  - {role: operator, uids: [$operator]}
  - {role: auditor, uids: [$auditor, $dora]}
  - {role: admin, uids: [0]}
END
    shift
    for line; do echo "  - $line"; done
}

pools() { # pools CLASSES
    echo "pools: [{name: wafer, platform: cs3, classes: [$1]}, {name: gpu, platform: h100x8}]"
}

site() { # site CLASSES
    site_places
    echo "policies_dir: $folder/policies"
    echo 'lease: 2s'
    pools "$1"
}

mkdir "$folder/state" "$folder/vault" "$folder/policies"
rules 1 >"$folder/policies/roles.yaml"
site 'public, internal, confidential' >"$folder/site.yaml"
WAFER_SOCKET=$folder/waferd.sock && export WAFER_SOCKET

# as USER STATUS ARGUMENT...: wafer, run by that user; bert is the one in the group of the project.
as() {
    user=$1 wanted=$2
    shift 2
    groups=--clear-groups
    [ "$user" -ne $bert ] || groups=--groups=7,$nlp
    (cd / && setpriv --reuid="$user" --regid="$user" $groups "$folder/wafer" "$@" </dev/null) \
        >"$folder/out" 2>"$folder/err"
    status=$?
    [ "$status" -eq "$wanted" ] || {
        echo "# wafer $*, as $user: exit status $status, wanted $wanted"
        return 1
    }
}

start() {
    "$top_builddir/waferd" --config "$folder/site.yaml" >>"$folder/waferd.log" 2>&1 </dev/null &
    daemon=$!
    within 20 test -S "$folder/waferd.sock" && within 20 "$top_builddir/wafer" -q version >/dev/null
}

refusals() { wafer -o json events --limit 10000 | jq '[.items[] | select(.kind == "REFUSED")] | length'; }

start
ok 'the controller starts with rules of its site'
"$top_builddir/wafersim" --socket "$folder/agent.sock" --vault "$folder/vault" --host h1 \
    --platforms "$top_srcdir/policies/platforms" --pool wafer=cs3:4 --pool gpu=h100x8:2 \
    >"$folder/wafersim.log" 2>&1 </dev/null &
systems=$!
within 20 sh -c "[ \"\$('$top_builddir/wafer' -o json system ls | jq .total)\" = 6 ]"
ok 'and has systems'

job "$folder/job.yaml" 1000000 1 3000
chmod 644 "$folder/job.yaml"
as $anna 0 submit -q "$folder/job.yaml" && job=$(cat "$folder/out")
ok 'an engineer submits'
as $anna 0 submit -q --set project=nlp "$folder/job.yaml" && shared=$(cat "$folder/out")
ok 'and submits to a project'
within 20 is "$job" .state RUNNING && within 20 sh -c "'$top_builddir/wafer' -o json ckpt ls $job | jq -e '.total > 0'" >/dev/null
ok 'it runs and has checkpoints'

# B32: each verb, on a job of somebody else and on none: the same answer, and a record of each.
before=$(refusals)
count=0
for verb in show logs events 'ckpt ls' cancel hold release requeue resume wait; do
    count=$((count + 2))
    as $carl 77 $verb "$job" && cp "$folder/err" "$folder/theirs" &&
        as $carl 77 $verb 999999 && sed "s/999999/$job/g" "$folder/err" | cmp -s - "$folder/theirs"
    ok "$verb: denied and unknown are one answer, 77"
done
same "$(refusals)" $((before + count))
ok 'and each left a record'
wafer -o json events --limit 10000 | jq -e --arg job "$job" '[.items[] | select(.kind == "REFUSED" and .uid == 4003) | .text] |
    any(test("^cancel " + $job + ":"))' >/dev/null
ok 'which says who tried what'
as $carl 0 -o json ls --all-users && jq -e '.total == 0' "$folder/out" >/dev/null
ok 'in lists there is nothing of others'
as $carl 0 -o json events && jq -e '[.items[] | select(.job != null)] | length == 0' "$folder/out" >/dev/null &&
    jq -e '[.items[] | select(.kind == "REFUSED" and .uid != 4003)] | length == 0' "$folder/out" >/dev/null
ok 'nor in events'
as 4999 77 submit "$folder/job.yaml" && as 4999 77 system ls && as 4999 0 version
ok 'who has no role may ask for the version'

as $bert 0 show "$shared" && as $bert 77 show "$job"
ok 'a member of the project, by group, sees its job and no other'
as $bert 77 logs "$shared" && as $bert 77 cancel "$shared" && as $bert 77 ckpt ls "$shared"
ok 'and neither its content nor its end is his'
as $bert 0 -o json ls --all-users && jq -e '.total == 1' "$folder/out" >/dev/null
ok 'his list has it'
as $bert 77 submit "$folder/job.yaml" && as $bert 0 submit -q --set project=nlp "$folder/job.yaml"
ok 'he submits to the project, and nowhere else'

as $auditor 0 show "$job" && as $auditor 0 events && as $auditor 77 logs "$job" &&
    as $auditor 77 ckpt ls "$job" && as $auditor 77 cancel "$job"
ok 'an auditor sees what happened, no content, and changes nothing'
as $auditor 77 show --spec "$job" && err_has 'content' && [ ! -s "$folder/out" ]
ok 'what the job is made of is content'
as $operator 77 logs "$job" && as $operator 0 requeue "$shared"
ok 'an operator acts on all, without content'
as $operator 77 submit "$folder/job.yaml"
ok 'and submits nothing'
as $anna 65 submit --set priority=p0 "$folder/job.yaml" && err_has 'p0 is for operators'
ok 'p0 is a right of its own'

# One of several roles.
as $dora 0 show "$job" && as $dora 77 --as engineer show "$job" && as $dora 0 --as auditor show "$job"
ok 'who acts as an engineer leaves aside what he may as an auditor'
as $dora 0 -o json --as engineer ls --all-users && jq -e '.total == 0' "$folder/out" >/dev/null &&
    as $dora 0 -o json --as auditor ls --all-users && jq -e '.total > 0' "$folder/out" >/dev/null
ok 'also in lists'
as $dora 0 -o json --as auditor whoami &&
    jq -e '.item | .roles == ["auditor"] and .role == "auditor" and .clearance != null' "$folder/out" >/dev/null
ok 'whoami says as what'
as $dora 77 --as operator version && err_has "you do not have the role 'operator'" &&
    as $dora 77 --as nothing version && err_has "you do not have the role 'nothing'"
ok 'a role of others, and none at all: 77'
as $dora 77 --as auditor submit "$folder/job.yaml" && as $dora 0 --as engineer submit -q --hold "$folder/job.yaml" &&
    held=$(cat "$folder/out") && run 0 events "$held" && out_has "JOB_SUBMITTED         by $dora as engineer"
ok 'events say as what'
wafer -o json events --limit 10000 |
    jq -e '[.items[] | select(.kind == "REFUSED" and .uid == 4006) | .role] == ["engineer", "operator", "nothing", "auditor"]' >/dev/null
ok 'and so do those of what was refused'

# Classes.
as $anna 77 submit --set data.class=confidential "$folder/job.yaml" && err_has 'data.class' && err_has 'clearance'
ok 'data above the clearance: 77, and why'
run 65 submit --set data.class=restricted "$folder/job.yaml" && err_has 'may not go to pool wafer'
ok 'data that a pool does not take: 65, with what it takes'
run 65 submit --set data.class=confidential --set queue=gpu "$folder/job.yaml" && err_has 'pool gpu'
ok 'a pool without a word takes public and internal'
secret=$(wafer submit -q --set data.class=confidential "$folder/job.yaml")
within 20 sh -c "'$top_builddir/wafer' -o json ckpt ls $secret | jq -e '[.items[] | select(.state == \"VERIFIED\")] | length > 0'" >/dev/null
ok 'a confidential job runs where it may'
step=$(wafer -o json ckpt ls "$secret" | jq '[.items[] | select(.state == "VERIFIED")][0].step')
run 65 submit --set "resume={init_from: $secret@$step}" "$folder/job.yaml" && err_has 'the checkpoint is confidential'
ok 'a job that starts from its checkpoint is of its class at least'
run 65 resume "$secret" --pool gpu && err_has 'pool gpu'
ok 'and it cannot be moved where it may not be'

# Reload.
rules 1 "{role: engineer, uids: [4999]}" >"$folder/policies/roles.yaml"
kill -HUP "$daemon" && within 5 grep -q 'serial: 1 is not above 1' "$folder/waferd.log" && as 4999 77 system ls
ok 'other rules under the same serial: the old ones go on'
rules 2 "{role: engineer, uids: [4999]}" >"$folder/policies/roles.yaml"
chmod 666 "$folder/policies/roles.yaml"
kill -HUP "$daemon" && within 5 grep -q 'others may write it' "$folder/waferd.log" && as 4999 77 system ls
ok 'rules that anybody can write: the old ones go on'
chmod 644 "$folder/policies/roles.yaml"
kill -HUP "$daemon" && within 5 as 4999 0 system ls
ok 'a higher serial: the new rules hold'
wafer -o json events | jq -e '[.items[] | select(.kind == "SETTINGS_CHANGED" or .kind == "REFUSED") | .text] |
    any(test("serial 1 -> 2")) and any(test("^reload: .*not above 1"))' >/dev/null
ok 'each reload left its record'
waiting=$(wafer submit -q --hold --set data.class=confidential "$folder/job.yaml")
site 'public, internal' >"$folder/site.yaml"
kill -HUP "$daemon" && within 5 grep -q 'pools.wafer.classes: changed' "$folder/waferd.log" &&
    ! grep -q 'waits for a restart' "$folder/waferd.log" &&
    run 0 release "$waiting" && within 5 is "$waiting" .reason.code ClassNotAllowed
ok 'a class that a pool no longer takes waits, and says so'
is "$secret" .state RUNNING
ok 'and what runs goes on under the terms that it started with'

kill -9 "$daemon"
wait "$daemon" 2>/dev/null
start && as $carl 77 show "$job" && as $bert 0 show "$shared" && is "$waiting" .reason.code ClassNotAllowed
ok 'after a kill -9 the same rules hold'
kill "$systems"
wait "$systems" 2>/dev/null
finish
