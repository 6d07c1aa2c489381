#!/bin/sh
# Simulated worlds, each from its seed. More of them: make soak SEEDS=100000
set -u
dst=${top_builddir:-.}/tests/dst/dst
seeds=${DST_SEEDS:-1-200}
echo 1..7

log=$(mktemp)
trap 'rm -f "$log"' EXIT
if "$dst" --twice --seeds "$seeds" >"$log" 2>&1; then
    echo "ok 1 - all is well in worlds $seeds"
else
    tail -n 60 "$log" | sed 's/^/# /'
    echo "not ok 1 - all is well in worlds $seeds"
fi

first=$("$dst" --seeds 7-9)
second=$("$dst" --seeds 7-9)
if [ -n "$first" ] && [ "$first" = "$second" ]; then
    echo "ok 2 - a seed gives the same run again"
else
    printf '%s\n%s\n' "$first" "$second" | sed 's/^/# /'
    echo "not ok 2 - a seed gives the same run again"
fi

# What a tester does not notice when it is broken, it does not test.
n=2
for guard in fence durable lease digest; do
    n=$((n + 1))
    if "$dst" --seeds 1-300 --without "$guard" >"$log" 2>&1; then
        echo "not ok $n - 300 worlds without guard $guard are not noticed"
    elif again=$(sed -n "s|^# tests/dst/dst \(.*\) --verbose$|\1|p" "$log") && [ -n "$again" ]; then
        echo "ok $n - it is noticed that guard $guard is gone, in world $(($(grep -c ^seed "$log") + 1))"
    else
        tail -n 5 "$log" | sed 's/^/# /'
        echo "not ok $n - a world without guard $guard ends in another way"
    fi
done

# Of the last one: it fails again, in the same way.
failure=$(grep '^#' "$log" | tail -n 1)
# shellcheck disable=SC2086 # several words
again=$("$dst" $again 2>&1 | tail -n 1)
if [ -n "$failure" ] && [ "$failure" = "$again" ]; then
    echo "ok 7 - the command that a failing world prints repeats it"
else
    printf '%s\n%s\n' "$failure" "$again" | sed 's/^/# /'
    echo "not ok 7 - the command that a failing world prints repeats it"
fi
