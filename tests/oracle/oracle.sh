#!/bin/sh
# Every job of a replay starts when others say it must: a small workload by the slow reference beside
# this, and, where WAFERD_ORACLE_DIR names their folder, real workloads by other simulators.
set -u
: "${top_srcdir:?}" "${top_builddir:?}"
here=$top_srcdir/tests/oracle
program=$top_builddir/wafer-replay
folder=$(mktemp -d /tmp/wafer-oracle.XXXXXX) || exit 99
trap 'rm -rf "$folder"' EXIT

if ! command -v python3 >/dev/null; then
    echo '1..0 # SKIP python3 is missing'
    exit 0
fi
{
    "$here/compare.py" --program "$program" "$here/excerpt" ${WAFERD_ORACLE_DIR:+"$WAFERD_ORACLE_DIR"}
    [ $? -le 1 ] || echo 'not ok 0 - the comparison ends by itself'
    [ -n "${WAFERD_ORACLE_DIR-}" ] || echo 'ok 0 - real workloads # SKIP WAFERD_ORACLE_DIR is not set'

    same=not
    if PYTHONDONTWRITEBYTECODE=1 "$here/excerpt.py" "$folder/excerpt" >"$folder/out" 2>&1 &&
        diff -r "$here/excerpt" "$folder/excerpt" >"$folder/out" 2>&1; then
        same=
    fi
    echo "${same:+not }ok 0 - the small workload and its schedules are what the reference makes"
    tail -n 5 "$folder/out" | sed 's/^/# /'
} | awk '/^1\.\./ { next }
    /^(not )?ok [0-9]/ { sub(/ok [0-9]+/, "ok " ++count) }
    { print }
    END { print "1.." count }'
