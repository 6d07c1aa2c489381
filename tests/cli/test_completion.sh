#!/bin/sh
# Completion in real shells: verbs, flags, values, and names that the controller has now.
. "${top_srcdir:?}/tests/cli/lib.sh"
plan 43
PATH=$top_builddir:$PATH && export PATH

cat >"$folder/none" </dev/null
cat >"$folder/jobs" <<'END'
--- list
jobs: {schema: x, items: [{id: 7, name: a}, {id: 12, array_id: 10, array_index: 2, name: b}, {id: 71, name: c}]}
END
cat >"$folder/systems" <<'END'
--- system_list
systems: {schema: x, items: [{name: s0}, {name: s1}, {name: g0}]}
END
cat >"$folder/reservations" <<'END'
--- reservation_list
reservations: {schema: x, items: [{name: night}, {name: course}]}
END
cat >"$folder/roles" <<'END'
--- whoami
whoami: {uid: 1000, roles: [engineer, auditor]}
END
cat >"$folder/checkpoints" <<'END'
--- checkpoint_list
checkpoints: {schema: x, items: [{id: 7@900.1}, {id: 7@1200.1}]}
END

cat >"$folder/bash" <<'END'
source <(wafer completion bash)
COMP_LINE="$*"
# as readline does it: also at = and @
read -ra words <<<"$(sed 's/[=@]/ & /g' <<<"$*")"
COMP_WORDS=("${words[@]}")
[[ "$*" == *[=\ ] ]] && COMP_WORDS+=("")
[[ "$*" == *= ]] && unset "COMP_WORDS[-1]"
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_wafer
printf '%s\n' "${COMPREPLY[@]}"
END

cat >"$folder/zsh" <<'END'
# What the builtins of a completion would be given; only a shell that completes has them.
compdef() { : }
compset() { : }
_message() { : }
_files() { print @files }
compadd() { while [[ $1 != -- ]]; do shift; done; shift; print -l -- "${(@M)@:#${cur##*=}*}" }
source <(wafer completion zsh)
words=(${(s: :)1}) CURRENT=$#words
[[ $1 == *' ' ]] && { words+=(''); CURRENT=$#words }
_wafer
END

cat >"$folder/fish" <<'END'
wafer completion fish | source
complete -C "$argv[1]" | string replace -r '\t.*' ''
END

# completes SHELL SCRIPT "LINE" "WORDS": in any order, and no others
completes() {
    shell=$1 line=$3 wanted=$4
    : >"$folder/err"
    "$fake" "$folder/$2" "$shell" "$folder/$shell" "$line" 2>"$folder/err" | sed '/^$/d' | sort -u >"$folder/out"
    # shellcheck disable=SC2086 # words
    printf '%s\n' $wanted | sort -u | sed '/^$/d' >"$folder/expected"
    diff "$folder/expected" "$folder/out" >"$folder/err"
    ok "$shell completes '$line'"
}

for shell in bash zsh fish; do
    if ! command -v $shell >/dev/null; then
        for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do
            number=$((number + 1))
            echo "ok $number - completion of $shell # SKIP there is no $shell"
        done
        continue
    fi
    completes "$shell" none 'wafer ca' 'cancel'
    completes "$shell" none 'wafer ckpt p' 'pin prune'
    completes "$shell" none 'wafer ls --sta' '--state'
    completes "$shell" none 'wafer ls --state SUS' 'SUSPENDED'
    completes "$shell" none 'wafer -o nd' 'ndjson'
    completes "$shell" jobs 'wafer cancel 7' '7 71'
    completes "$shell" jobs 'wafer -q --reason 7 cancel 9 1' '10_2'
    completes "$shell" systems 'wafer system show s' 's0 s1'
    completes "$shell" none 'wafer system fault s0 c' 'crash'
    completes "$shell" systems 'wafer explain 7 --system g' 'g0'
    completes "$shell" reservations 'wafer resv rm n' 'night'
    completes "$shell" roles 'wafer --as aud' 'auditor'
    completes "$shell" none 'wafer schema wafer.job' 'wafer.job/v1 wafer.job.list/v1'
    case $shell in
    bash) completes bash checkpoints 'wafer ckpt pin 7@9' '@900.1' ;; # readline replaces from the @ on
    *) completes "$shell" checkpoints 'wafer ckpt pin 7@9' '7@900.1' ;;
    esac
done

alone completion csh
exits 64 && err_has "there is no completion for 'csh': bash, zsh or fish"
ok "other shells have none"
