#!/bin/sh
# The man pages are well formed, and leave out nothing that the programs and the schemas have.
set -u
: "${top_srcdir:?}" "${top_builddir:?}"
pages=$top_srcdir/man
number=0

result() { # NAME MISSING: passes when nothing is missing
    number=$((number + 1))
    if [ -z "$2" ]; then
        echo "ok $number - $1"
    else
        echo "not ok $number - $1"
        echo "$2" | sed 's/^/# /'
    fi
}

lint() {
    if ! command -v mandoc >/dev/null; then
        number=$((number + 1))
        echo "ok $number - $1 # SKIP mandoc is needed"
        return
    fi
    result "$1" "$(mandoc -T lint -W warning "$pages"/*.[158] 2>&1)"
}

# Which words of standard input, one a line, the page lacks: PATTERN is a regular expression for a
# line of the page, with the word for its @.
lacks() { # PAGE PATTERN
    while read -r word; do
        grep -q -e "${2%@*}$word${2#*@}" "$pages/$1" || echo "$1 lacks $word"
    done
}

wafer() { "$top_builddir/wafer" "$@"; }

# "submit", "ckpt ls": the verbs that help lists, one a line
verbs() {
    wafer help | awk '
        /^flags of every verb/ { exit }
        /^[a-z]+: / { group = $1; sub(":", "", group) }
        /^  [a-z]/ { print $1 == group ? $1 " " $2 : $1 }'
}

# Long options of a help text, without their dashes.
options() {
    grep -o -e '--[a-z][a-z-]*' | sed 's/^--//' | sort -u
}

# Those that are of this verb alone.
own_options() { # VERB [VERB]
    wafer "$@" -h | sed '/^flags of every verb/,$d' | options
}

# The page that `man wafer-VERB` shows, of the verb or of its group: links are made by the build.
page_of() { # VERB
    link=$top_builddir/man/wafer-$1.1
    if [ -f "$pages/wafer-$1.1" ]; then
        echo "wafer-$1.1"
    elif [ -f "$link" ]; then
        sed 's|^\.so man1/||' "$link"
    else
        echo "wafer-$1.1-is-missing"
    fi
}

# What the pages of the verbs lack.
verbs_lack() {
    verbs | counted 20 | while read -r verb; do
        page=$(page_of "${verb%% *}")
        echo "$verb" | lacks "$page" '^\.It Cm @\( \|$\)'
        echo "$verb" | sed 's/ .*//; s/^/wafer-/' | lacks "$page" '^\.Nm @\( ,\)\?$'
    done
}
flags_lack() {
    verbs | counted 20 | while read -r verb; do
        # shellcheck disable=SC2086 # two words are two
        own_options $verb | lacks "$(page_of "${verb%% *}")" '-@\( \|$\)'
    done
}

# Keys of the messages of a schema, but those named.
keys() { # FILE [MESSAGE|...]
    awk -v without="^(${2-})\$" '
        /^message/ { skip = $2 ~ without }
        !skip && match($0, /(required|optional|repeated) [A-Za-z0-9.]+ [A-Za-z_]+ =/) {
            split(substr($0, RSTART, RLENGTH), word, " ")
            print word[3]
        }' "$top_srcdir/proto/$1" | sort -u
}

counted() { # LEAST: the lines on standard input, or a complaint that they are too few
    lines=$(cat)
    count=$(printf '%s\n' "$lines" | wc -l)
    if [ "$count" -lt "$1" ]; then
        echo "only-$count-found"
    else
        printf '%s\n' "$lines"
    fi
}

echo 1..13
lint "the pages are without a warning of mandoc"
result "each verb has a page under its name" "$(verbs_lack)"
result "which has every flag of it" "$(flags_lack)"
result "wafer(1) names every verb" \
    "$(verbs | sed 's/ .*//' | sort -u | counted 20 | lacks wafer.1 '^\.Cm \(.* \)\?@ ')"
result "wafer(1) has every flag of all verbs" \
    "$(wafer ls -h | sed '1,/^flags of every verb/d' | options | counted 12 | lacks wafer.1 '-@\( \|$\)')"
result "wafer(1) has every exit code" \
    "$(wafer help exit | grep -o -E '\b[0-9]+  ' | tr -d ' ' | counted 16 | lacks wafer.1 '^\.It @$')"
result "waferd(8) has every option" \
    "$("$top_builddir/waferd" --help | options | counted 8 | lacks waferd.8 '^\.It .*-@\( \|$\)')"
result "wafersim(8) has every option" \
    "$("$top_builddir/wafersim" --help | options | counted 9 | lacks wafersim.8 '^\.It .*-@\( \|$\)')"
result "wafer.yaml(5) has every key of the settings" \
    "$(keys client.proto | counted 12 | lacks wafer.yaml.5 '^\.It Cm \(.* \)\?@\( \|$\)')"
result "waferd.platforms(5) has every key of a platform" \
    "$(keys platform.proto | counted 25 | lacks waferd.platforms.5 '^\.\(It \)\?Cm \(.* \)\?@\( \|$\)')"
result "waferd.yaml(5) has every key of the site file" \
    "$(keys site.proto | counted 12 | lacks waferd.yaml.5 '^\.\(It \)\?Cm @\( \|$\)')"
# What is below a key that is refused has no meaning yet.
result "wafer-job(5) has every key of the job file" \
    "$(keys job.proto 'Dependency|Program|DivergenceSpec|FallbackSpec|RetentionSpec|CostSpec|NotifySpec' |
        counted 70 | lacks wafer-job.5 '^\.\(It \)\?\(Cm\|Ql\|Ss\) \(.*[ {,.]\)\?@\($\|[ :,]\)')"
result "waferd.policies(5) has every key and action of the roles" \
    "$({ keys policy.proto; sed -n '/enum Action/,/}/s/^ *\([a-z]*\) = .*/\1/p' "$top_srcdir/proto/policy.proto"; } |
        counted 30 | lacks waferd.policies.5 '^\.It Cm \(.* \)\?@\( \|$\)')"
