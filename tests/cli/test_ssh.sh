#!/bin/sh
# A controller on another machine: ssh is a script here, and what it was asked to run is run.
. "${top_srcdir:?}/tests/cli/lib.sh"
plan 17
mkdir "$folder/bin" && PATH=$folder/bin:$PATH && export PATH
ln -s "$wafer" "$folder/bin/wafer"

cat >"$folder/bin/ssh" <<'END'
#!/bin/sh
printf '%s\n' "$*" >"$SSH_WORDS"
while [ "$1" != -- ]; do shift; done
shift 2
unset WAFER_SERVER
[ -z "${SSH_EXIT-}" ] || { echo "ssh: Connection refused" >&2; exit "$SSH_EXIT"; }
exec "$@"
END
chmod +x "$folder/bin/ssh"
SSH_WORDS=$folder/words && export SSH_WORDS

printf -- '--- list\njobs: {schema: x, items: [{id: 7, name: gpt, state: RUNNING}]}\n' >"$folder/list"

run list ls -q --server ssh://head
exits 0 && echo 7 | out_is && echo "-T -- head wafer proxy" | cmp -s - "$folder/words"
ok "--server ssh://HOST asks there"
run list ls -q --server ssh://ada@head:2222 --no-input
exits 0 && echo 7 | out_is && echo "-T -p 2222 -o BatchMode=yes -- ada@head wafer proxy" | cmp -s - "$folder/words"
ok "with a user, a port, and no questions"
run list ls -q --server 'ssh://[fe80::1]:22'
exits 0 && echo "-T -p 22 -- fe80::1 wafer proxy" | cmp -s - "$folder/words"
ok "an address with colons stands in brackets"
WAFER_SERVER=ssh://head run list ls -v --server ssh://other -o name
exits 0 && err_has "'waferd 0.1.0' answers at 'other'" && grep -q other "$folder/words"
ok "-v tells which one answers"

# A big answer, and a stream that ends.
{
    printf -- '--- list\njobs:\n  schema: x\n  items:\n'
    i=0
    while [ $i -lt 3000 ]; do
        i=$((i + 1))
        echo "    - {id: $i, name: gpt, state: PENDING, title: a title that makes it long enough for many packets}"
    done
} >"$folder/big"
run big ls -o name --server ssh://head
exits 0 && [ "$(wc -l <"$folder/out")" -eq 3000 ]
ok "long answers come whole"
printf -- '--- watch\nmore: true\njob: {id: 7, state: RUNNING}\n--- more\njob: {id: 7, state: FAILED}\n' >"$folder/watch"
run watch wait 7 --server ssh://head
exits 1 && echo "job 7: FAILED" | out_is
ok "streams run through it, and outcomes"

printf '' >"$folder/nothing"
SSH_EXIT=255 alone ls --server ssh://head
exits 69 && err_has "ssh: Connection refused" && err_has "wafer: ls: cannot reach 'head' through ssh: try 'ssh head wafer version'"
ok "what ssh says is seen, and then what to try"
SSH_EXIT=127 alone ls --server ssh://head
exits 69 && err_has "'head' has no 'wafer' where ssh looks for programs"
ok "a host without wafer"
WAFER_SOCKET=$folder/nobody alone ls --server ssh://head
exits 69 && err_has "wafer: proxy: no controller at '$folder/nobody'" && err_has "the proxy on 'head' ended"
ok "a host without a controller: what the proxy says is seen"
PATH=$folder/empty alone ls --server ssh://head
exits 69 && err_has "cannot run ssh"
ok "no ssh at all"
printf -- '--- list\n--- close\n' >"$folder/gone"
run gone ls -q --server ssh://head
exits 69 && err_has "went away"
ok "a controller that goes away there"
printf -- '--- hello 2 0\n' >"$folder/major"
run major ls --server ssh://head
exits 76
ok "another version there"

alone proxy --server ssh://head
exits 64 && err_has "a proxy leads to the controller of its own machine"
ok "a proxy leads no further"
WAFER_SOCKET=$folder/nobody alone proxy
exits 69 && err_has "wafer: proxy: no controller at '$folder/nobody'"
ok "a proxy without a controller"

# A controller that starts again.
printf -- '--- watch\nmore: true\njob: {id: 7, state: RUNNING}\n--- close\n--- watch\njob: {id: 7, state: SUCCEEDED}\n' >"$folder/restart"
run restart wait 7 --server ssh://head
exits 0 && echo "job 7: SUCCEEDED" | out_is && echo "-T -- head wafer proxy --timeout 30s" | cmp -s - "$folder/words"
ok "a restart of the controller is waited out over there"
{
    WAFER_SOCKET=$folder/later
    export WAFER_SOCKET
    mkfifo "$folder/held"
    "$wafer" proxy --timeout 20s <"$folder/held" >"$folder/out" 2>"$folder/err" &
    exec 9>"$folder/held"
    exec 9>&-
    wait $!
    status=$?
    unset WAFER_SOCKET
}
exits 69 && err_has "no controller at '$folder/later'"
ok "but not for a client that has gone"

# ---- a real one ----

real_sshd() {
    sshd=$(command -v sshd || command -v /usr/sbin/sshd) && command -v ssh-keygen >/dev/null &&
        PATH=${PATH#*:} command -v ssh >/dev/null && [ "$(id -u)" -eq 0 ]
}
if ! real_sshd; then
    number=$((number + 1))
    echo "ok $number - a real sshd # SKIP sshd, ssh-keygen and root are needed"
    exit 0
fi
rm "$folder/bin/ssh"
ssh-keygen -q -t ed25519 -N '' -f "$folder/key"
ssh-keygen -q -t ed25519 -N '' -f "$folder/host_key"
port=$((20000 + $$ % 20000))
cat >"$folder/sshd_config" <<END
Port $port
ListenAddress 127.0.0.1
HostKey $folder/host_key
AuthorizedKeysFile $folder/key.pub
PidFile none
StrictModes no
UsePAM no
PermitRootLogin yes
PermitUserEnvironment no
ForceCommand PATH=$folder/bin:\$PATH WAFER_SOCKET=\$(cat $folder/socket) \$SSH_ORIGINAL_COMMAND
END
printf 'Host head\n  HostName 127.0.0.1\n  Port %s\n  IdentityFile %s\n  UserKnownHostsFile %s\n  StrictHostKeyChecking accept-new\n' \
    "$port" "$folder/key" "$folder/known_hosts" >"$folder/ssh_config"
cat >"$folder/bin/ssh" <<END
#!/bin/sh
printf '%s' "\$WAFER_SOCKET" >"$folder/socket"
exec $(PATH=${PATH#*:} command -v ssh) -F "$folder/ssh_config" "\$@"
END
chmod +x "$folder/bin/ssh"
mkdir -p /run/sshd
"$sshd" -D -e -f "$folder/sshd_config" 2>"$folder/sshd.log" &
server=$!
trap 'kill "$server"; rm -rf "$folder"' EXIT
tries=0
until grep -q 'Server listening' "$folder/sshd.log" || [ $tries -ge 50 ]; do
    tries=$((tries + 1))
    sleep 0.1
done
run big ls -o name --server ssh://head --no-input
exits 0 && [ "$(wc -l <"$folder/out")" -eq 3000 ]
ok "a real ssh and a real sshd"
