#!/bin/sh
# JSON Schemas: one for each document and file, and what does not match one is found.
. "${top_srcdir:?}/tests/cli/lib.sh"
plan 7

alone schema
cp "$folder/out" "$folder/names"
exits 0 && while read -r name; do
    "$wafer" schema "$name" >"$folder/schema" &&
        [ "$(jq -r '.title + " " + .type + " " + ."$schema"' "$folder/schema")" = \
            "$name object https://json-schema.org/draft/2020-12/schema" ] || { echo "# $name"; false; break; }
done <"$folder/names"
ok "each name has a schema"

alone schema wafer.jobs/v1
exits 64 && echo "wafer: schema: there is no schema 'wafer.jobs/v1': did you mean wafer.job/v1" | err_is
ok "a name that is none is refused with the nearest"

alone schema job-file
exits 0 && [ "$(jq -c '[.required, .additionalProperties, .properties.kind.const]' "$folder/out")" = \
    '[["apiVersion","kind","name"],false,"Job"]' ] &&
    [ "$(jq -c '."$defs"."wafer.RetrySpec".properties.count.enum' "$folder/out")" = '["without_progress","all",null]' ]
ok "a file has the keys that it must have, and no others"

alone schema wafer.job/v1
exits 0 && [ "$(jq -c '[.required, .properties.schema.const]' "$folder/out")" = '[["schema","item"],"wafer.job/v1"]' ] &&
    [ "$(jq '."$defs"."wafer.Job" | (.required | length) == (.properties | length)' "$folder/out")" = true ]
ok "what is printed has every key"

cat >"$folder/show" <<'END'
--- show
show: {job: {id: 7, name: a, uid: 0, state: RUNNING, labels: {pilot: q1}}, spec: {apiVersion: wafer/v1, kind: Job, name: a, limit: 2h, checkpoint: {every: 30m, keep: {last: 2}}, retry: {never: [CONFIG]}}}
END
run show show 7 --spec -o json
exits 0
run show show 7 -o ndjson
exits 0
rm -f "$folder/documents/"[12] # those were schemas
documents_match

kept=0
for damage in '.item.state = "RUNING"' '.item.extra = 1' 'del(.item.user)' '.item.id = null' '.schema = "wafer.jab/v1"'; do
    kept=$((kept + 1))
    jq -c "$damage" "$folder/documents/4" >"$folder/damaged" && [ -s "$folder/damaged" ] || { kept=no; break; }
    "$top_srcdir/tests/cli/validate.py" "$wafer" "$folder/damaged" >"$folder/out" 2>"$folder/err"
    case $? in
    1) ;;
    77) break ;;
    *) echo "# matches: $damage"; kept=no; break ;;
    esac
done
[ "$kept" != no ]
ok "a document that does not match is found"

"$top_srcdir/tests/cli/validate.py" "$wafer" "$top_srcdir"/examples/*.yaml "$top_srcdir"/policies/*.yaml \
    "$top_srcdir"/policies/platforms/*.yaml \
    >"$folder/out" 2>"$folder/err"
status=$?
if [ "$status" -eq 77 ]; then
    echo "ok 7 - the files that come with it match theirs # SKIP python3-jsonschema and python3-yaml are needed"
else
    exits 0
    ok "the files that come with it match theirs"
fi
