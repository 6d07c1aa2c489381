#!/bin/sh
# soak.sh [SEED] - the tests that choose at random, at length: 200 kills and 200 cancels. `make soak`.
set -u
here=$(dirname "$0")
sh "$here/kills.sh" 200 ${1:+"$1"} || exit 1
sh "$here/cancel.sh" 200
