/* completion — what a shell needs to complete command lines, made from the tables of verbs.c.
 *
 * A script holds the verbs with their flags and kinds of targets. Names that live in the controller
 * come from verbs that anybody may type, with -o name. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "cli/message.h"
#include "cli/run.h"
#include "model/job.h"

/* ---- the tables ----------------------------------------------------------------------------- */

/* What stands in a synopsis, and the kind of name that it is. */
static const struct {
    const char *word, *kind;
} kinds[] = {
    { "ID", "@jobs" },
    { "SYSTEM", "@systems" },
    { "CKPT", "@checkpoints" },
    { "FILE", "@files" },
    { "QUEUE", "@queues" },
    { "NAME", "@schemas" },
    { "TOPIC", "@topics" },
    { "A", "@jobs" },
    { "B", "@jobs" },
    { "DIR", "@files" },
    { "RESERVATION", "@reservations" },
};

/* "SYSTEM crash" becomes "@systems crash": a kind, or words between bars, for each target. */
static char *targets_of(const struct verb *verb)
{
    owned(buffer_done) struct buffer text = BUFFER_EMPTY;
    owned(free) char *copy = text_copy(verb->targets ? verb->targets : "");

    for (char *word, *rest = copy; (word = strsep(&rest, " "));) {
        word += strspn(word, "[");
        word[strcspn(word, "].")] = '\0';
        const char *shown = islower((unsigned char)*word) ? word : NULL;
        size_t length = strcspn(word, "|");
        for (size_t i = 0; i < ELEMENTS(kinds); i++)
            if (strlen(kinds[i].word) == length && memcmp(word, kinds[i].word, length) == 0)
                shown = kinds[i].kind;
        if (shown)
            buffer_format(&text, "%s%s", text.length ? " " : "", shown);
    }
    return buffer_text(&text);
}

static char *state_words(void)
{
    owned(buffer_done) struct buffer text = BUFFER_EMPTY;

    for (Wafer__Job__State i = 0; i < JOB_STATES; i++)
        buffer_format(&text, "%s%s", i ? " " : "", job_state_name(i));
    return buffer_text(&text);
}

/* The values of a flag, as far as they are known, or the kind of name; NULL: any. The caller frees.
 */
static char *values_of(enum flag_id flag)
{
    switch (flag) {
    case FLAG_OUTPUT: return text_copy("table wide json ndjson yaml name plain cols=");
    case FLAG_COLOR: return text_copy("auto always never");
    case FLAG_TZ: return text_copy("UTC local");
    case FLAG_STATE: return state_words();
    case FLAG_PRIORITY: return text_copy("p1 p2 p3");
    case FLAG_ATTEMPT: return text_copy("all");
    case FLAG_AS: return text_copy("@roles");
    case FLAG_ON_SYSTEM: return text_copy("@systems");
    case FLAG_FROM: return text_copy("auto");
    case FLAG_EVERY: return text_copy("once daily weekly");
    case FLAG_ON: return text_copy("mon tue wed thu fri sat sun");
    default: return NULL;
    }
}

static void print_verb_name(const struct verb *verb)
{
    printf("%s%s%s", verb->group ? verb->group : "", verb->group ? " " : "", verb->name);
}

static bool takes_word(const struct flag *flag)
{
    return flag->argument && !flag->argument_optional;
}

/* --socket|-o|...: flags that the next word belongs to. */
static void print_flags_with_values(const char *separator)
{
    bool is_first = true;

    for (enum flag_id i = 0; i < FLAGS; i++) {
        if (!takes_word(&flags[i]))
            continue;
        printf("%s--%s", is_first ? "" : separator, flags[i].name);
        if (flags[i].letter)
            printf("%s-%c", separator, flags[i].letter);
        is_first = false;
    }
}

/* Its own; without a verb, those that work everywhere. */
static void print_flag_words(const struct verb *verb)
{
    bool is_first = true;

    for (enum flag_id i = 0; i < FLAGS; i++) {
        if (!verb_has(verb, i))
            continue;
        printf("%s--%s", is_first ? "" : " ", flags[i].name);
        is_first = false;
    }
}

static void print_top_words(void)
{
    for (size_t i = 0; i < verbs_count; i++)
        if (!verbs[i].group)
            printf("%s ", verbs[i].name);
    for (size_t i = 0; i < groups_count; i++)
        printf("%s%s", groups[i].name, i + 1 < groups_count ? " " : "");
}

static void print_group_words(const struct group *group)
{
    bool is_first = true;

    for (size_t i = 0; i < verbs_count; i++) {
        if (!verbs[i].group || strcmp(verbs[i].group, group->name) != 0)
            continue;
        printf("%s%s", is_first ? "" : " ", verbs[i].name);
        is_first = false;
    }
}

/* The cases of verbs and groups: what bash and zsh have in common. */
static void print_cases(void)
{
    printf("    case $verb in\n    '') words='");
    print_top_words();
    printf("' ;;\n");
    for (size_t i = 0; i < groups_count; i++) {
        printf("    '%s') words='", groups[i].name);
        print_group_words(&groups[i]);
        printf("' ;;\n");
    }
    for (size_t i = 0; i < verbs_count; i++) {
        owned(free) char *targets = targets_of(&verbs[i]);
        printf("    '");
        print_verb_name(&verbs[i]);
        printf("') flags=\"$flags ");
        print_flag_words(&verbs[i]);
        printf("\" targets='%s' ;;\n", targets);
    }
    printf("    esac\n");
}

static void print_value_cases(void)
{
    printf("    case $before in\n");
    for (enum flag_id i = 0; i < FLAGS; i++) {
        owned(free) char *values = values_of(i);
        if (!values)
            continue;
        printf("    --%s", flags[i].name);
        if (flags[i].letter)
            printf("|-%c", flags[i].letter);
        printf(") words='%s' ;;\n", values);
    }
    printf("    --socket) words=@files ;;\n");
    printf("    ");
    print_flags_with_values("|");
    printf(") words=@any ;;\n    esac\n");
}

static void print_group_cases(void)
{
    for (size_t i = 0; i < groups_count; i++)
        printf("%s%s", i ? "|" : "", groups[i].name);
}

/* Which verb it is, how many targets stand before the cursor, and which controller is asked. Both
 * shells count words of the line from their own beginning: `first` is the one after "wafer". */
static void print_scan(const char *words, const char *last)
{
    printf("    for ((i = first; i < %s; i++)); do\n"
           "        word=${%s[i]}\n"
           "        case $word in\n"
           "        --socket|--server) where+=(\"$word\" \"${%s[i+1]}\"); i=$((i + 1)) ;;\n"
           "        ",
           last, words, words);
    print_flags_with_values("|");
    printf(") i=$((i + 1)) ;;\n"
           "        -?*) ;;\n"
           "        *)\n"
           "            case $verb in\n"
           "            '') verb=$word ;;\n"
           "            ");
    print_group_cases();
    printf(") verb=\"$verb $word\" ;;\n"
           "            *) count=$((count + 1)) ;;\n"
           "            esac ;;\n"
           "        esac\n"
           "    done\n");
}

/* The function that gives the names; what the two shells write differently. */
static void print_names(const char *topics, const char *topics_end, const char *other)
{
    printf("_wafer_names() { # KIND: names that are there now, one a line\n"
           "    case $1 in\n"
           "    @jobs) wafer ls -o name \"${where[@]}\" ;;\n"
           "    @systems) wafer system ls -o name \"${where[@]}\" ;;\n"
           "    @queues) wafer queue ls -o name \"${where[@]}\" ;;\n"
           "    @roles) wafer whoami -o plain \"${where[@]}\" | cut -f 5 | tr , '\\n' ;;\n"
           "    @reservations) wafer resv ls -o name \"${where[@]}\" ;;\n"
           "    @checkpoints)\n"
           "        case $cur in\n"
           "        *@*) wafer ckpt ls \"${cur%%%%@*}\" -o name \"${where[@]}\" ;;\n"
           "        *) wafer ls -o name \"${where[@]}\" | sed 's/$/@/' ;;\n"
           "        esac ;;\n"
           "    @schemas) wafer schema ;;\n"
           "    @topics) %s",
           topics);
    print_top_words();
    printf(" targets formats exit environment%s ;;\n"
           "    *) %s ;;\n"
           "    esac 2>/dev/null\n"
           "}\n\n",
           topics_end, other);
}

/* ---- bash ----------------------------------------------------------------------------------- */

static void print_bash(void)
{
    printf("# bash completion of wafer: source <(wafer completion bash)\n");
    print_names("echo '", "'", "echo \"${1//|/ }\"");
    printf("_wafer() {\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
           "    local verb= words= targets= word i first=1 count=0\n"
           "    local -a where=() kinds=()\n"
           "    local flags='");
    print_flag_words(NULL);
    printf("'\n"
           "    COMPREPLY=()\n"
           "    # bash takes --flag=value and JOB@STEP apart; of the latter, readline replaces the "
           "@ too.\n"
           "    if [[ $cur == = ]]; then cur=; elif [[ $before == = ]]; then "
           "before=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
           "    if [[ $before == @ ]]; then cur=${COMP_WORDS[COMP_CWORD-2]}@$cur\n"
           "    elif [[ $cur == @ ]]; then cur=$before@; fi\n");
    print_scan("COMP_WORDS", "COMP_CWORD");
    print_cases();
    print_value_cases();
    printf(
        "    if [[ $cur == -* && -z $words$before ]] || [[ $cur == -* && $words != @any ]]; then\n"
        "        words=$flags\n"
        "    elif [[ -z $words && -n $targets ]]; then\n"
        "        read -ra kinds <<<\"$targets\"\n"
        "        if ((count >= ${#kinds[@]})); then count=$((${#kinds[@]} - 1)); fi\n"
        "        words=${kinds[count]}\n"
        "    fi\n"
        "    case $words in\n"
        "    @any) return ;;\n"
        "    @files) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- \"$cur\")); "
        "return ;;\n"
        "    @*|*'|'*) words=$(_wafer_names \"$words\") ;;\n"
        "    esac\n"
        "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
        "    if [[ $COMP_WORDBREAKS == *@* && $cur == *@* ]]; then\n"
        "        COMPREPLY=(\"${COMPREPLY[@]#\"${cur%%@*}\"}\")\n"
        "    fi\n"
        "    if [[ ${COMPREPLY-} == *[=@] && ${#COMPREPLY[@]} -eq 1 ]]; then compopt -o nospace "
        "2>/dev/null; fi\n"
        "}\n"
        "complete -F _wafer wafer\n");
}

/* ---- zsh ------------------------------------------------------------------------------------ */

static void print_zsh(void)
{
    printf("#compdef wafer\n"
           "# zsh completion of wafer: source <(wafer completion zsh), or as _wafer in $fpath\n");
    print_names("print -l ${=:-'", "'}", "print -l ${(s:|:)1}");
    printf("_wafer() {\n"
           "    local cur=${words[CURRENT]} before=${words[CURRENT-1]}\n"
           "    local -a line=(\"${words[@]}\") where kinds\n"
           "    local verb= words= targets= word i first=2 count=0\n"
           "    local flags='");
    print_flag_words(NULL);
    printf("'\n");
    print_scan("line", "CURRENT");
    print_cases();
    printf("    if [[ $cur == --*=* ]]; then before=${cur%%%%=*}; compset -P '*='; fi\n");
    print_value_cases();
    printf("    if [[ $cur == -* && $cur != --*=* && $words != @any ]]; then\n"
           "        words=$flags\n"
           "    elif [[ -z $words && -n $targets ]]; then\n"
           "        kinds=(${=targets})\n"
           "        if ((count >= $#kinds)); then count=$(($#kinds - 1)); fi\n"
           "        words=${kinds[count+1]}\n"
           "    fi\n"
           "    case $words in\n"
           "    @any) _message value ;;\n"
           "    @files) _files ;;\n"
           "    @checkpoints) compadd -S '' -- ${(f)\"$(_wafer_names \"$words\")\"} ;;\n"
           "    @*|*'|'*) compadd -- ${(f)\"$(_wafer_names \"$words\")\"} ;;\n"
           "    *) compadd -- ${=words} ;;\n"
           "    esac\n"
           "}\n"
           "if [[ $funcstack[1] == _wafer ]]; then _wafer \"$@\"; else compdef _wafer wafer; fi\n");
}

/* ---- fish ----------------------------------------------------------------------------------- */

static void print_quoted(const char *text)
{
    putchar('\'');
    for (; *text; text++)
        printf("%s%c", *text == '\'' || *text == '\\' ? "\\" : "", *text);
    putchar('\'');
}

static void print_fish_flag(enum flag_id id, const struct verb *verb)
{
    owned(free) char *values = values_of(id);
    const struct flag *flag = &flags[id];

    printf("complete -c wafer ");
    if (verb) {
        printf("-n '__wafer_is ");
        print_verb_name(verb);
        printf("' ");
    }
    printf("-l %s", flag->name);
    if (flag->letter)
        printf(" -s %c", flag->letter);
    if (takes_word(flag))
        printf(id == FLAG_SOCKET ? " -rF" : " -x");
    if (values && values[0] == '@') {
        printf(" -a '(__wafer_names %s)'", values);
    } else if (values) {
        printf(" -a ");
        print_quoted(values);
    }
    printf(" -d ");
    print_quoted(flag->summary);
    putchar('\n');
}

static void print_fish_verb(const struct verb *verb)
{
    owned(free) char *targets = targets_of(verb);
    size_t number = 0;

    printf("complete -c wafer -n '__wafer_is %s' -a %s -d ", verb->group ? verb->group : "",
           verb->name);
    print_quoted(verb->summary);
    putchar('\n');
    for (char *kind, *rest = targets; *targets && (kind = strsep(&rest, " ")); number++) {
        printf("complete -c wafer -n '__wafer_is ");
        print_verb_name(verb);
        printf("; and __wafer_at %zu %d' ", number, rest == NULL);
        if (strcmp(kind, "@files") == 0)
            printf("-F\n");
        else
            printf("-a '(__wafer_names %s)'\n", kind);
    }
    for (enum flag_id i = 0; i < FLAGS; i++)
        if (verb_has(verb, i))
            print_fish_flag(i, verb);
}

static void print_fish(void)
{
    printf("# fish completion of wafer: wafer completion fish | source\n"
           "function __wafer_words # the words that are no flags, nor values of flags\n"
           "    set -l skip 0\n"
           "    for word in (commandline -opc)[2..-1]\n"
           "        if test $skip = 1\n"
           "            set skip 0\n"
           "            continue\n"
           "        end\n"
           "        switch $word\n"
           "            case ");
    print_flags_with_values(" ");
    printf("\n"
           "                set skip 1\n"
           "            case '-?*'\n"
           "            case '*'\n"
           "                echo $word\n"
           "        end\n"
           "    end\n"
           "end\n"
           "function __wafer_where # the flags that say which controller\n"
           "    set -l words (commandline -opc)\n"
           "    for i in (seq (count $words))\n"
           "        if contains -- $words[$i] --socket --server; and test $i -lt (count $words)\n"
           "            echo $words[$i]\n"
           "            echo $words[(math $i + 1)]\n"
           "        end\n"
           "    end\n"
           "end\n"
           "function __wafer_verb\n"
           "    set -l words (__wafer_words)\n"
           "    set -q words[1]; or return\n"
           "    if contains -- $words[1]");
    for (size_t i = 0; i < groups_count; i++)
        printf(" %s", groups[i].name);
    printf("\n"
           "        echo $words[1..2]\n"
           "    else\n"
           "        echo $words[1]\n"
           "    end\n"
           "end\n"
           "function __wafer_is # VERB: it is that one; nothing: there is none yet\n"
           "    test (__wafer_verb | string collect --allow-empty; or true) = (string join ' ' -- "
           "$argv | string collect --allow-empty; or true)\n"
           "end\n"
           "function __wafer_at # N LAST: the cursor is at target N, or behind the last one\n"
           "    set -l count (math (count (__wafer_words)) - (count (string split ' ' -- "
           "(__wafer_verb))))\n"
           "    test $count -eq $argv[1]; or test $argv[2] = 1 -a $count -gt $argv[1]\n"
           "end\n"
           "function __wafer_names\n"
           "    set -l where (__wafer_where)\n"
           "    set -l cur (commandline -ct)\n"
           "    switch $argv[1]\n"
           "        case @jobs\n"
           "            wafer ls -o name $where\n"
           "        case @systems\n"
           "            wafer system ls -o name $where\n"
           "        case @queues\n"
           "            wafer queue ls -o name $where\n"
           "        case @roles\n"
           "            wafer whoami -o plain $where | cut -f 5 | string split ,\n"
           "        case @reservations\n"
           "            wafer resv ls -o name $where\n"
           "        case @checkpoints\n"
           "            if string match -q '*@*' -- $cur\n"
           "                wafer ckpt ls (string replace -r '@.*' '' -- $cur) -o name $where\n"
           "            else\n"
           "                wafer ls -o name $where | string replace -r '$' '@'\n"
           "            end\n"
           "        case @schemas\n"
           "            wafer schema\n"
           "        case @topics\n"
           "            string split ' ' -- '");
    print_top_words();
    printf(" targets formats exit environment'\n"
           "        case '*'\n"
           "            string split '|' -- $argv[1]\n"
           "    end 2>/dev/null\n"
           "end\n"
           "complete -c wafer -f\n");
    for (size_t i = 0; i < groups_count; i++) {
        printf("complete -c wafer -n __wafer_is -a %s -d ", groups[i].name);
        print_quoted(groups[i].summary);
        putchar('\n');
    }
    for (enum flag_id i = 0; i < FLAGS_EVERYWHERE; i++)
        print_fish_flag(i, NULL);
    for (size_t i = 0; i < verbs_count; i++)
        print_fish_verb(&verbs[i]);
}

int run_completion(const struct command *command)
{
    static const struct {
        const char *name;
        void (*print)(void);
    } shells[] = { { "bash", print_bash }, { "zsh", print_zsh }, { "fish", print_fish } };

    for (size_t i = 0; i < ELEMENTS(shells); i++) {
        if (strcmp(shells[i].name, command->targets[0]) == 0) {
            shells[i].print();
            return 0;
        }
    }
    return message_fail(command, EXIT_USAGE, "there is no completion for '%s': bash, zsh or fish",
                        command->targets[0]);
}
