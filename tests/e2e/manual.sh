#!/bin/sh
# The worked examples of the manual: each command of a page is run, and says what the page shows, but for times.
# shellcheck disable=SC1091,SC2154,SC2034,SC2015,SC2181 # lib.sh has what is missing here, and uses the rest
. "${top_srcdir:=$(dirname "$0")/../..}/tests/e2e/lib.sh"
speed=1

# The lines of all literal blocks that begin with a command.
session() { awk '/^\.Bd -literal$/ { on = 1; next } /^\.Ed$/ { on = 0 } on' "$top_srcdir/man/$1"; }
without_times() { sed -E 's/[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8}\+00:00/TIME/g'; }

none_is_starting() { [ "$(wafer -o json ls --state STARTING | jq .total)" = 0 ]; }

# follow PAGE: its commands, in order, and what they say.
follow() {
    session "$1" | grep '^\$ ' | while read -r _ command arguments; do
        echo "\$ $command $arguments"
        [ "$command" = cat ] || command=$top_builddir/$command
        # shellcheck disable=SC2086 # the words of the page
        (cd "$folder/example" && "$command" $arguments 2>&1 </dev/null)
        within 10 none_is_starting # a reader does not type as fast
    done
}

top_builddir=$(cd "$top_builddir" && pwd)
begin manual
ok 'the controller is ready'
mkdir "$folder/example" && cp "$top_srcdir/examples/cerebras-gpt-111m.yaml" "$folder/example/job.yaml"
cp "$top_srcdir/examples/morning.swf" "$folder/example"
for page in wafer-explain.1 waferd.scheduling.5; do
    session "$page" | without_times >"$folder/wanted"
    follow "$page" | without_times >"$folder/said"
    diff "$folder/wanted" "$folder/said" >"$folder/out" && [ "$(grep -c '^\$ ' "$folder/wanted")" -ge 4 ]
    ok "$page shows what is said"
done
finish
