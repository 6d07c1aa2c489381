#!/bin/sh
# wafer replay: what it prints, what it refuses. That its schedules are right is what tests/oracle is
# for.
. "$top_srcdir/tests/cli/lib.sh"
plan 38
small=$top_srcdir/tests/oracle/excerpt/excerpt.swf
cd "$folder" || exit 99

# Nothing between the fields but spaces.
swf() { # ID SUBMIT RUN SYSTEMS LIMIT
    echo "$1 $2 -1 $3 $4 -1 -1 $4 $5 -1 1 1 1 1 1 1 -1 -1"
}

{ swf 1 0 100 2 200; swf 2 10 50 3 60; swf 3 20 30 1 40; } >three.swf
alone replay --systems 4 --schedule starts.csv three.swf
exits 0 && printf '%s\n' job_id,submit,start,end,procs 1,0,0,100,2 2,10,100,150,3 3,20,20,50,1 |
    diff - starts.csv >difference
ok "a job starts beside one that waits if it ends in time"

out_has 'three.swf: 3 jobs, requested limits, ties batch'
ok "it says what was replayed"

alone replay --systems 4 --backfill none,easy three.swf
exits 0 && grep -Eq '^ +4 +none .* 00:00:57 ' out && grep -Eq '^ +4 +easy .* \*00:00:30 ' out
ok "of two runs the better one is marked"

alone replay --systems 4 --backfill easy-sjbf three.swf
exits 0 && grep -q '^ *4  easy-sjbf ' out
ok "rules have the names that flags take"

alone replay --systems 4 --schedule x.csv --backfill none,easy three.swf
exits 64 && err_has '--schedule: of one run, not of 2'
ok "a file is of one run"

alone replay three.swf
exits 64 && err_has 'give --systems N'
ok "a trace that names no machine needs --systems"

alone replay --systems 2 three.swf
exits 0 && out_has 'left out 1: need more than 2 systems'
ok "a job that is too wide is left out, and counted"

{ cat three.swf; echo '4 x'; echo garbage; swf 5 30 0 1 10; } >bad.swf
alone replay --systems 4 bad.swf
exits 0 && out_has 'left out 2: is not a job in the format of the log; first line 4: 4 x' &&
    out_has 'left out 1: ran for no time; first line 6'
ok "lines that are no jobs are counted by cause, with the first"

alone replay --strict --systems 4 bad.swf
exits 65 && err_has 'bad.swf:4:'
ok "--strict refuses them"

# User 1 has had all systems when user 2 comes behind him: the policy lets the other go first.
of_user() { swf "$2" "$3" "$4" "$5" "$6" | sed "s/ 1 1 1 1 1 1 -1 -1\$/ 1 $1 1 1 1 1 -1 -1/"; }
{ of_user 1 1 0 1000 4 1000; of_user 1 2 10 100 4 100; of_user 2 3 20 100 4 100; } >users.swf
mkdir policies && printf '%s\n' 'apiVersion: wafer/v1' 'kind: Scheduling' 'serial: 1' 'order: policy' \
    'weights: {fair_share: 1000, age: 0}' 'recompute: 1s' >policies/scheduling.yaml
alone replay --systems 4 --policies policies --schedule first.csv users.swf
exits 0 && grep -q '^3,20,1000,' first.csv && grep -q '^2,10,1100,' first.csv &&
    cp out first.out && alone replay --systems 4 --policies policies --schedule second.csv users.swf &&
    cmp first.out out && cmp first.csv second.csv
ok "--policies orders as the site would, and gives the same bytes again"

alone replay --systems 4 --order fcfs --policies policies --schedule first.csv users.swf
exits 0 && grep -q '^2,10,1000,' first.csv
ok "a flag says more than the policies"

alone replay --systems 4 --policies nowhere users.swf
exits 66 && err_has 'there is no nowhere/scheduling.yaml' && echo 'order: quickest' >>policies/scheduling.yaml &&
    alone replay --systems 4 --policies policies users.swf
exits 65 && err_has 'policies/scheduling.yaml:'
ok "policies that are not there, or wrong, are refused"

alone replay --systems 4 nowhere.swf
exits 66 && err_has 'nowhere.swf: No such file'
ok "a trace that is not there"

alone replay --systems 4 "$folder"
exits 74
ok "a folder is no trace"

echo 'hello, world' >text
alone replay --systems 4 text
exits 65 && err_has 'neither Standard Workload Format nor the Philly CSV'
ok "a file of another kind is refused"

gzip -c "$small" >small.swf.gz && head -c 1500 small.swf.gz >cut.swf.gz
alone replay cut.swf.gz
exits 65 && err_has 'cut short'
ok "a gzip file that is cut short is refused"

alone replay -o json small.swf.gz && cp out zipped
alone replay -o json "$small"
exits 0 && sed 's/"trace".*//' out >plain && sed 's/"trace".*//' zipped | diff - plain >/dev/null
ok "gzip or plain is the same"

"$wafer" replay --systems 64 - <"$small" >out 2>err
status=$?
exits 0 && out_has 'jobs, requested limits'
ok "standard input"

: >empty
alone replay --systems 4 empty
exits 0 && out_has 'empty: 0 jobs'
ok "an empty trace is no error"

{ echo timestamp,duration,num_gpus,gpu_time,cluster
  echo 2017-10-09 07:01:55,66.0,1,66.0,b
  echo 2017-10-09 07:01:50,10.5,4,42.0,a
  echo 2017-13-09 07:01:50,10.5,4,42.0,a
  echo 2017-10-09 07:01:50,10.5,4; } >philly.csv
alone replay --systems 4 --schedule starts.csv philly.csv
exits 0 && printf '%s\n' job_id,submit,start,end,procs 3,0,0,10,4 2,5,10,76,1 | diff - starts.csv >difference
ok "the Philly CSV, by time and not by line"

alone replay --systems 4 philly.csv
exits 0 && out_has 'left out 2: is not a job' && grep -Eq '^b +1 ' out
ok "its bad lines, and a table of its queues"

alone replay --systems 0 three.swf
exits 64 && err_has '--systems: "0" is no number of systems'
ok "no systems are refused"

alone replay --backfill esay three.swf
exits 64 && err_has '"esay" is none of none, easy, easy-sjbf, conservative'
ok "a word that is not known is refused with those that are"

{ swf 1 0 100 2 200; swf 2 99999999999999 50 1 60; swf 3 0 99999999999 1 99999999999
  swf 4 20 30 99999999999 40; swf 5 20 30 1 99999999999999999999; } >huge.swf
alone replay --systems 4 huge.swf
exits 0 && out_has 'left out 4: is not a job'
ok "numbers that no machine had are no jobs"

{ swf 1 0 100 2 200; head -c 300000 /dev/zero | tr '\0' 7; echo; head -c 50 /dev/zero; echo
  swf 2 5 100 2 200; } >long.swf
alone replay --systems 4 --schedule starts.csv long.swf
exits 0 && out_has 'left out 2: is not a job' && [ "$(wc -l <starts.csv)" -eq 3 ]
ok "a line without end and one of zeros are lines that are no jobs"

alone replay --systems 4 --schedule /nowhere/x.csv three.swf
exits 73 && err_has '/nowhere/x.csv'
ok "a schedule that cannot be written"

alone replay --systems 4 --failures mtbf=10s,repair=5s --checkpoints 20s --schedule one.csv three.swf && cp out first
exits 0 && out_has 'failures mtbf=10s,repair=5s, seed 1, checkpoints every 00:00:20' &&
    grep -Eq '^  4, easy: systems failed [0-9]+ times, jobs were restarted [1-9]' out && grep -q LOST out
ok "systems that fail restart jobs"

alone replay --systems 4 --failures mtbf=10s,repair=5s --checkpoints 20s --schedule two.csv three.swf
exits 0 && diff first out >difference && diff one.csv two.csv >difference
ok "the same seed is the same failures"

alone replay --systems 4 --failures mtbf=10s,repair=5s --checkpoints 20s --seed 2 --schedule two.csv three.swf
exits 0 && ! diff one.csv two.csv >difference
ok "another seed is others"

alone replay -o json --systems 4 --failures mtbf=10s --checkpoints none three.swf
exits 0 && jq -e '.checkpoint_s == 0 and .seed == 1 and .items[0].lost_system_s > 0' out >difference
ok "the document of failures"

{ echo 'System,nodenumz,Prob Started,Prob Fixed,Software'
  echo '2,1,6/21/2005 10:54,6/21/2005 10:55,"MPI, PVM"'
  echo '2,1,6/21/2005 11:54,,'; } >failures.csv
{ swf 1 0 100 4 200; } >wide.swf
alone replay --systems 4 --failures failures.csv --schedule starts.csv wide.swf
exits 0 && out_has 'failed 1 times, jobs were restarted 1 times' &&
    out_has 'left out 1: is not a failure in the format of the record; first line 3' &&
    printf '%s\n' job_id,submit,start,end,procs 1,0,0,160,4 | diff - starts.csv >difference
ok "a record of failures begins when the trace does"

alone replay --strict --systems 4 --failures failures.csv wide.swf
exits 65 && err_has 'failures.csv:3: is not a failure'
ok "--strict refuses a record with a line that is none"

alone replay --systems 4 --failures three.swf wide.swf
exits 65 && err_has 'names no columns System'
ok "a file of another kind is no record"

alone replay --systems 4 --failures mtbf=ever wide.swf
exits 64 && err_has '--failures: mtbf'
ok "a rate that is none"

alone replay --systems 4 --failures nowhere.csv wide.swf
exits 66 && err_has 'neither a rate like mtbf=30d,repair=4h nor a file'
ok "a record that is not there"

cp "$small" workload.swf
sed -n 's/^\.Dl wafer replay/replay/p' "$top_srcdir/man/wafer-replay.1" >examples
failed=0
while read -r line; do
    # shellcheck disable=SC2086 # words
    alone $line
    [ "$status" -eq 0 ] || failed=$((failed + 1))
done <examples
status=$failed
exits 0 && [ "$(wc -l <examples)" -ge 4 ] && grep -q '</svg>' picture.svg
ok "the examples of the man page work"

alone replay -o plain --systems 4 three.swf
exits 0 && printf '4\teasy\tfcfs\t3\t30000\t0\t90\t90\t1600\t633333\t150\t1000000\t-\n' | diff - out >err
ok "plain is one record a run"

documents_match
