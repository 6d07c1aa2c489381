#include "cli/targets.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "cli/message.h"
#include "model/job.h"

#define TARGETS_MAX 100000

static int parse(const struct command *command, const char *text, Wafer__Target *ret)
{
    wafer__target__init(ret);
    if (job_target_parse(text, ret) < 0)
        return message_fail(command, EXIT_USAGE,
                            "'%s' is no job: an id like 7, 7_3 or 7.2, or a name", text);
    return 0;
}

/* ---- words ---------------------------------------------------------------------------------- */

static void add_word(struct words *words, const char *text, size_t length)
{
    ARRAY_RESERVE(words->items, words->count, words->capacity);
    words->items[words->count++] = text_copy_length(text, length);
}

static int read_input(const struct command *command, struct words *words)
{
    owned(free) char *line = NULL;
    size_t size = 0;

    while (getline(&line, &size, stdin) >= 0) {
        const char *word = line + strspn(line, " \t\r\n");
        size_t length = strcspn(word, " \t\r\n");

        if (words->count >= TARGETS_MAX)
            return message_fail(command, EXIT_USAGE, "more than %d targets: do it in parts",
                                TARGETS_MAX);
        if (length)
            add_word(words, word, length);
    }
    return ferror(stdin) ? message_fail(command, EXIT_IO, "cannot read standard input") : 0;
}

int words_read(const struct command *command, const char *what, struct words *ret)
{
    int exit = 0;

    *ret = (struct words){ .count = 0 };
    for (size_t i = 0; i < command->target_count && !exit; i++) {
        const char *text = command->targets[i];
        if (strcmp(text, "-") == 0)
            exit = read_input(command, ret);
        else
            add_word(ret, text, strlen(text));
    }
    if (!exit && ret->count == 0)
        exit = message_fail(command, EXIT_NOTHING_MATCHED, "standard input names no %s", what);
    if (exit)
        words_done(ret);
    return exit;
}

void words_done(struct words *words)
{
    for (size_t i = 0; i < words->count; i++)
        free(words->items[i]);
    free(words->items);
    *words = (struct words){ .count = 0 };
}

/* ---- targets -------------------------------------------------------------------------------- */

int target_read(const struct command *command, const char *text, Wafer__Target *ret)
{
    static struct words words;

    if (strcmp(text, "-") != 0)
        return parse(command, text, ret);
    int exit = words_read(command, "job", &words);
    if (!exit && words.count > 1)
        exit = message_fail(command, EXIT_USAGE,
                            "standard input names %zu jobs: this verb takes one", words.count);
    return exit ? exit : parse(command, words.items[0], ret);
}

int targets_read(const struct command *command, struct targets *ret)
{
    *ret = (struct targets){ .count = 0 };
    int exit = words_read(command, "job", &ret->words);

    ret->count = ret->words.count;
    ret->items = memory_new(ret->count * sizeof(*ret->items) + 1);
    for (size_t i = 0; i < ret->count && !exit; i++)
        exit = parse(command, ret->words.items[i], &ret->items[i]);
    if (exit)
        targets_done(ret);
    return exit;
}

void targets_done(struct targets *targets)
{
    words_done(&targets->words);
    free(targets->items);
    *targets = (struct targets){ .count = 0 };
}

int targets_confirm(const struct command *command, size_t count)
{
    char answer[16];

    if (count < 2 || command_has(command, FLAG_YES) || command_has(command, FLAG_DRY_RUN))
        return 0;
    if (command_has(command, FLAG_NO_INPUT) || !isatty(STDIN_FILENO) || !command->err.is_terminal)
        return message_fail(command, EXIT_USAGE, "%zu jobs at once: --yes says that you mean it",
                            count);
    fprintf(stderr, "wafer: %s %zu jobs? [y/N] ", command->verb->name, count);
    if (fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y'))
        return 0;
    return message_fail(command, EXIT_INTERRUPTED, "nothing was changed");
}
