#!/bin/sh
# Reservations on a real controller: whoever would run into maintenance waits and is told which limit fits, the
# zone is that of tzdata, users have their own, and a kill of the controller changes nothing.
# shellcheck disable=SC1091,SC2154,SC2034,SC2015,SC2181,SC2086 # lib.sh has what is missing here, and uses the rest
. "${top_srcdir:=$(dirname "$0")/../..}/tests/e2e/lib.sh"

[ -e /usr/share/zoneinfo/Europe/Berlin ] || {
    echo '1..0 # SKIP tzdata is missing'
    exit 0
}
later() { # later SECONDS [FORMAT]: from now on, by the clock of the cluster
    now=$(wafer -o json system ls | jq -r '.generated_at | sub("\\.[0-9]+"; "") | fromdate')
    date -d "@$((now + $1))" "+${2-%Y-%m-%dT%H:%M:%SZ}"
}

# A day is a bit more than two minutes here: slow enough to type in, fast enough to wait for.
speed=600
begin dev
job "$folder/long.yaml" 100000000
job "$folder/short.yaml" 100
run 65 resv new m --start 2020-02-30T08:00 --zone Europe/Berlin --for 1h && err_has 'no date and time of the calendar' &&
    run 65 resv new m --start 2020-01-01T08:00 --zone Europe/Berlin --for 1h && err_has 'is in the past' &&
    run 65 resv new m --start 2030-01-01T08:00 --zone Europe/Atlantis --for 1h && err_has 'is not known here' &&
    run 65 resv new m --start 2030-01-01T08:00 --zone ../../etc/passwd --for 1h && err_has 'is no name' &&
    run 64 resv new m --start 2030-01-01T08:00 --zone UTC --for 1h --every fortnight && err_has 'once, daily, weekly'
ok 'what makes no sense is refused, each with its reason'
tomorrow=$(later 86400 %Y-%m-%dT%H:%M:00Z)
start=$(TZ=Europe/Berlin date -d "$tomorrow" +%Y-%m-%dT%H:%M)
run 0 resv new night --start "$start" --zone Europe/Berlin --for 2h --every daily --pool wafer --reason checks &&
    same "$(wafer -o json resv ls | jq -r '.items[0].windows[0].from')" "$tomorrow" && run 0 resv ls -o wide && out_has checks
ok 'a daily one in a named zone begins when clocks there say so'
waits=$(submit --limit 2-0 --systems 2 "$folder/long.yaml") && is "$waits" .reason.code ReservationConflict &&
    run 2 plan --limit 2-0 "$folder/long.yaml" && out_has ReservationConflict
ok 'a job that would run into it waits'
kill_daemon
begin dev
run 0 explain "$waits" && out_has 'reservation night begins at' && out_has 'a limit of at most' &&
    is "$waits" .reason.code ReservationConflict
ok 'also when the controller was killed, and is told why'
advice=$(wafer explain "$waits" --fix | grep 'limit=') && set -- $advice && shift && run 0 "$@" && within 10 runs "$waits"
ok 'the limit that it is told lets it start'
run 2 resv new now --start "$(later 1800)" --for 1h --pool wafer && err_has 'use --force' &&
    run 0 resv new now --start "$(later 1800)" --for 1h --pool wafer --force && out_has "job $waits runs there"
ok 'a reservation where a job runs takes force'
run 0 resv rm now && run 0 cancel --yes "$waits" && run 3 wait "$waits"
ok 'it can be removed'
run 0 resv new course --start "$(later 1200)" --for 3h --systems s1 --users "$(id -u)" &&
    own=$(submit --set reservation=course --limit 1h "$folder/short.yaml") && is "$own" .reason.code ReservationConflict &&
    run 0 wait "$own" && same "$(wafer -o json report "$own" | jq -r '(.items // [.item])[0].attempts[0].systems[0]')" s1
ok 'a job that names one for its user runs in its window, on its system'
finish
