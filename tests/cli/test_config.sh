#!/bin/sh
# Settings: each source in its turn, what wrong ones say, and what they change.
. "${top_srcdir:?}/tests/cli/lib.sh"
plan 20
cd "$folder" || exit 99
mkdir -p "$folder/config/waferd" "$folder/.config/waferd"

file() { # PATH LINE...: a file of settings
    path=$1
    shift
    printf '%s\n' 'apiVersion: wafer/v1' 'kind: Client' "$@" >"$path"
}

# origin KEY: value and origin, as config show has them
origin() {
    alone config show --origin -o plain
    awk -F '\t' -v key="$1" '$1 == key { print $2 " from " $3 }' "$folder/out"
}

is() { # TEXT TEXT
    [ "$1" = "$2" ] || { echo "# '$1' is not '$2'"; return 1; }
}

is "$(origin tz)" "local from built in"
ok "what nobody says is built in"

if unshare -m sh -c 'mount -t tmpfs none /etc && mkdir /etc/waferd' 2>/dev/null; then
    is "$(unshare -m sh -c "mount -t tmpfs none /etc && mkdir /etc/waferd &&
        printf 'apiVersion: wafer/v1\nkind: Client\ntz: UTC\n' >/etc/waferd/client.yaml &&
        \"$wafer\" config show -o plain" | grep '^tz')" "$(printf 'tz\tUTC\t/etc/waferd/client.yaml:3:5: tz')"
    ok "the site's file is over what is built in"
else
    number=$((number + 1))
    echo "ok $number - the site's file # SKIP may not mount another /etc here"
fi

file config/waferd/config.yaml 'tz: UTC' 'sort: -id' 'output: wide'
is "$(origin tz)" "UTC from $folder/config/waferd/config.yaml:3:5: tz"
ok "so is the user's"
file .config/waferd/config.yaml 'tz: UTC' 'sort: name'
is "$(unset XDG_CONFIG_HOME; origin sort)" "name from $folder/.config/waferd/config.yaml:4:7: sort"
ok "which is in ~/.config unless XDG_CONFIG_HOME says otherwise"

file .wafer.yaml 'tz: local' 'timeout: 90s' 'exit_error: 200' 'socket: /nobody/home'
is "$(origin tz)" "local from .wafer.yaml:3:5: tz" && is "$(origin sort)" "-id from $folder/config/waferd/config.yaml:4:7: sort"
ok "that of the folder is over both, key by key"
is "$(origin timeout)" "1m30s from .wafer.yaml:4:10: timeout" && is "$(origin exit_error)" "200 from .wafer.yaml:5:13: exit_error"
ok "durations and numbers are typed"
is "$(WAFER_TZ=UTC origin tz)" "UTC from WAFER_TZ"
ok "a variable is over the files"
alone config show --origin -o plain --tz UTC
WAFER_TZ=local alone config show -o json --tz UTC
exits 0 && is "$(jq -r '.items[] | select(.key == "tz") | .value + " " + .origin' "$folder/out")" "UTC --tz"
ok "and a flag over the variable"
is "$(WAFER_TZ='' origin tz)" "local from .wafer.yaml:3:5: tz"
ok "an empty variable counts as unset"

alone ls
exits 200 && err_has "no controller at '/nobody/home'"
ok "a file names the controller, and the exit code of errors"
alone ls --server unix:/flag
exits 200 && err_has "no controller at '/flag'" && WAFER_SERVER=unix:/variable alone ls && err_has "no controller at '/variable'"
ok "a server that is named nearer wins over a socket"

file .wafer.yaml 'queue: gpu' 'project: nlp'
printf 'apiVersion: wafer/v1\nkind: Job\nname: gpt\nworkload: {model: {params: 1e9}, batch: 8, steps: 1000}\n' >job.yaml
printf -- '--- submit\njob: {id: 7, name: gpt}\n' >submit
run submit submit job.yaml
exits 0 && asked "queue: gpu" && asked "project: nlp"
ok "queue and project of job files that name none"
run submit submit job.yaml --queue wafer --set project=vision
exits 0 && asked "queue: wafer" && asked "project: vision" && ! grep -q gpu "$FAKE_REQUESTS"
ok "but not of those that do"

# ---- wrong ones ----

file .wafer.yaml 'tz: Mars'
alone ls
exits 78 && echo "wafer: ls: .wafer.yaml:3:5: tz: unknown time zone 'Mars': UTC or local" | err_is
ok "a wrong value is told with its place"
file .wafer.yaml 'tiemout: 5s'
alone ls
exits 78 && err_has ".wafer.yaml:3:1: tiemout: " && err_has "timeout"
ok "so is an unknown key, with the nearest"
file .wafer.yaml 'timeout: 90'
alone ls
exits 78 && err_has "a bare number is not a duration"
ok "and a value of the wrong type"
printf 'apiVersion: wafer/v2\nkind: Job\n' >.wafer.yaml
alone ls
exits 78 && err_has ".wafer.yaml:1:13: apiVersion: " && err_has "is no client's file: Client"
ok "a file of another kind or version is refused"
alone help ls
exits 0 && out_has "wafer ls"
ok "help comes up all the same"

file .wafer.yaml 'socket: /trap'
chmod o+w .wafer.yaml
alone ls
exits 69 && err_has "'.wafer.yaml' is left out: others than you and root can write it" && ! err_has "at '/trap'"
ok "a file that others can write is left out, and that is told"
rm .wafer.yaml

documents_match
