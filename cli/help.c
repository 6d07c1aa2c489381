#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "cli/arguments.h"
#include "cli/message.h"
#include "cli/run.h"

static const struct {
    const char *name, *text;
} topics[] = {
    { "targets", "7         a job            7_3   element 3 of an array\n"
                 "7.2       its attempt 2    name  the newest job of that name\n"
                 "7@3000    the checkpoint of job 7 at step 3000\n"
                 "-         reads targets from standard input, one a line\n" },
    { "formats",
      "table   for people; widths follow the terminal, and may change between versions\n"
      "wide    the same with all columns, and none cut\n"
      "json    one document, or one a line of what goes on; stable within its schema version\n"
      "ndjson  a document a line for each item\n"
      "yaml    the document in YAML, without the keys that have nothing\n"
      "name    names alone, one a line, as - takes them\n"
      "plain   a record a line, fields between tabs; \\t \\n \\r \\\\ and \\xNN stand for control\n"
      "        characters. Its fields are listed in wafer(1)\n"
      "cols=   a table of keys of the JSON document: cols=id,state,progress.step,labels.pilot\n" },
    { "exit",
      "  0  done; the job succeeded        66  an input file is missing\n"
      "  1  the job failed                 69  the controller cannot be reached\n"
      "  2  nothing matched, or the job    70  internal error\n"
      "     is in no state for that        71  the operating system refused\n"
      "  3  the job was cancelled          74  input or output failed\n"
      "  4  the job hit its time limit     75  a limit was reached or all is busy: retry later\n"
      "  5  the job was lost               76  other protocol version\n"
      "  6  the wait timed out             77  denied\n"
      " 64  usage                          78  configuration is wrong\n"
      " 65  a job file is wrong           130  Ctrl-C; the job goes on\n"
      "                                   141  nobody reads the output any more\n" },
    { "environment", "WAFER_SERVER      as --server\n"
                     "WAFER_SOCKET      as --socket; else /run/waferd/waferd.sock\n"
                     "WAFER_OUTPUT      as -o\n"
                     "WAFER_QUEUE       of job files that name none\n"
                     "WAFER_PROJECT     likewise\n"
                     "WAFER_LS_COLUMNS  the table of 'wafer ls', as -o cols= takes it\n"
                     "WAFER_SORT        as --sort\n"
                     "WAFER_TZ          as --tz\n"
                     "WAFER_EXIT_ERROR  exit with this code in place of those from 64 to 78\n"
                     "NO_COLOR          no colour, when not empty\n"
                     "COLUMNS           width of tables\n"
                     "Flags win over the environment, and that over the files .wafer.yaml,\n"
                     "$XDG_CONFIG_HOME/waferd/config.yaml and /etc/waferd/client.yaml.\n" },
};

static void print_flag(const struct flag *flag)
{
    owned(free) char *value = NULL;

    if (flag->argument)
        value = text_format(flag->argument_optional ? "[=%s]" : " %s", flag->argument);
    owned(free) char *left =
        text_format("%c%c%s--%s%s", flag->letter ? '-' : ' ', flag->letter ? flag->letter : ' ',
                    flag->letter ? ", " : "  ", flag->name, value ? value : "");
    printf("  %-26s  %s\n", left, flag->summary);
}

/* Its own; without a verb, those that work everywhere. */
static void print_flags(const struct verb *verb)
{
    for (enum flag_id i = 0; i < FLAGS; i++)
        if (verb_has(verb, i))
            print_flag(&flags[i]);
}

static void print_verb_line(const struct verb *verb)
{
    owned(free) char *left =
        text_format("%s%s%s%s%s", verb->group ? verb->group : "", verb->group ? " " : "",
                    verb->name, verb->targets ? " " : "", verb->targets ? verb->targets : "");
    printf("  %-26s  %s\n", left, verb->summary);
}

static void print_verb(const struct verb *verb)
{
    printf("wafer %s%s%s%s%s%s\n%s\n", verb->group ? verb->group : "", verb->group ? " " : "",
           verb->name, verb->targets ? " " : "", verb->targets ? verb->targets : "",
           verb->flags ? " [flags]" : "", verb->summary);
    if (verb->text)
        printf("\n%s", verb->text);
    if (verb->flags) {
        printf("\nflags\n");
        print_flags(verb);
    }
    printf("\nflags of every verb\n");
    print_flags(NULL);
}

static void print_group(const struct group *group)
{
    printf("wafer %s VERB\n%s\n\n", group->name, group->summary);
    for (size_t i = 0; i < verbs_count; i++)
        if (verbs[i].group && strcmp(verbs[i].group, group->name) == 0)
            print_verb_line(&verbs[i]);
    printf("\n'wafer %s VERB -h' has the flags.\n", group->name);
}

static void print_everything(void)
{
    printf("wafer VERB [TARGET...] [flags]\ntraining jobs on wafer-scale systems\n\njobs\n");
    for (size_t i = 0; i < verbs_count; i++)
        if (!verbs[i].group)
            print_verb_line(&verbs[i]);
    for (size_t i = 0; i < groups_count; i++) {
        printf("\n%s: %s\n", groups[i].name, groups[i].summary);
        for (size_t j = 0; j < verbs_count; j++)
            if (verbs[j].group && strcmp(verbs[j].group, groups[i].name) == 0)
                print_verb_line(&verbs[j]);
    }
    printf("\nflags of every verb\n");
    print_flags(NULL);
    printf("\n'wafer VERB -h' has the flags of a verb. Topics of 'wafer help':");
    for (size_t i = 0; i < ELEMENTS(topics); i++)
        printf(" %s", topics[i].name);
    printf("\n");
}

int help_print(const struct command *command)
{
    if (command->verb)
        print_verb(command->verb);
    else if (command->group)
        print_group(command->group);
    else
        print_everything();
    return 0;
}

static bool print_topic(const char *name)
{
    for (size_t i = 0; i < ELEMENTS(topics); i++) {
        if (strcmp(topics[i].name, name) == 0) {
            fputs(topics[i].text, stdout);
            return true;
        }
    }
    return false;
}

int run_help(const struct command *command)
{
    struct command about = *command;
    const char *first = command->target_count > 0 ? command->targets[0] : NULL;
    const char *second = command->target_count > 1 ? command->targets[1] : NULL;

    about.verb = NULL;
    about.group = first && (second || !verb_find(NULL, first)) ? group_find(first) : NULL;
    if (second)
        about.verb = about.group ? verb_find(first, second) : NULL;
    else if (first && !about.group)
        about.verb = verb_find(NULL, first);

    if ((!second && about.group) || about.verb || !first)
        return help_print(&about);
    if (!second && print_topic(first))
        return 0;
    owned(free) char *suggestion = verb_suggest(about.group, about.group ? second : first);
    return message_fail(command, EXIT_USAGE, "no help on '%s': %s", about.group ? second : first,
                        suggestion);
}
