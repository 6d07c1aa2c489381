# lib.sh - sourced by the shell tests of the command line: TAP, and wafer against a scripted
# controller. A test file calls `plan N` first.
set -u
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
fake=$top_builddir/tests/cli/fake_server
wafer=$top_builddir/wafer
LC_ALL=C.UTF-8 TZ=UTC COLUMNS=80 TERM=xterm PAGER=cat
export LC_ALL TZ COLUMNS TERM PAGER
unset NO_COLOR WAFER_SERVER WAFER_SOCKET WAFER_OUTPUT WAFER_TZ WAFER_QUEUE WAFER_PROJECT WAFER_SORT \
    WAFER_LS_COLUMNS WAFER_EXIT_ERROR
HOME=$folder XDG_CONFIG_HOME=$folder/config && export HOME XDG_CONFIG_HOME
FAKE_REQUESTS=$folder/requests && export FAKE_REQUESTS
number=0
kept=0
mkdir "$folder/documents"

plan() {
    echo "1..$1"
}

ok() { # NAME, after a command
    if [ $? -eq 0 ]; then result=ok; else result="not ok"; fi
    number=$((number + 1))
    echo "$result $number - $1"
    [ "$result" = ok ] || sed 's/^/# out: /' "$folder/out"
    [ "$result" = ok ] || sed 's/^/# err: /' "$folder/err"
}

# run SCRIPT ARGUMENT...: wafer against the script; fills $folder/out, $folder/err, $status
run() {
    script=$1
    shift
    : >"$FAKE_REQUESTS"
    "$fake" "$folder/$script" "$wafer" "$@" >"$folder/out" 2>"$folder/err" </dev/null
    status=$?
    keep_documents
}

# alone ARGUMENT...: wafer without a controller
alone() {
    "$wafer" "$@" >"$folder/out" 2>"$folder/err" </dev/null
    status=$?
    keep_documents
}

# Everything that looks like JSON is checked at the end.
keep_documents() {
    for stream in out err; do
        first=
        read -r first <"$folder/$stream" || :
        case $first in
        '{'*)
            kept=$((kept + 1))
            cp "$folder/$stream" "$folder/documents/$kept"
            ;;
        esac
    done
}

# The last test of a file that prints JSON.
documents_match() {
    "$top_srcdir/tests/cli/validate.py" "$wafer" "$folder"/documents/* >"$folder/out" 2>"$folder/err"
    status=$?
    if [ "$status" -eq 77 ]; then
        number=$((number + 1))
        echo "ok $number - every JSON document matches its schema # SKIP python3-jsonschema is missing"
        return
    fi
    sed -n '$p' "$folder/out"
    exits 0
    ok "every JSON document matches its schema"
}

exits() { # STATUS
    [ "$status" -eq "$1" ] || { echo "# exit $status, not $1"; return 1; }
}

out_is() { # the expected text on standard input
    cat >"$folder/expected"
    diff "$folder/expected" "$folder/out" | sed 's/^/# /'
    cmp -s "$folder/expected" "$folder/out"
}

err_is() {
    cat >"$folder/expected"
    diff "$folder/expected" "$folder/err" | sed 's/^/# /'
    cmp -s "$folder/expected" "$folder/err"
}

out_has() { # TEXT
    grep -qF -e "$1" "$folder/out"
}

err_has() {
    grep -qF -e "$1" "$folder/err"
}

asked() { # TEXT, that a request held
    grep -qF -e "$1" "$FAKE_REQUESTS" || { sed 's/^/# asked: /' "$FAKE_REQUESTS"; return 1; }
}
