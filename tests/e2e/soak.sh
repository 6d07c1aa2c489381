#!/bin/sh
# soak.sh [COUNT [SEED]] - the tests that choose at random, at length: as many kills and cancels, else 200
# (make soak).
set -u
here=$(dirname "$0")
count=${1:-200}
sh "$here/kills.sh" "$count" ${2:+"$2"} || exit 1
sh "$here/cancel.sh" "$count"
