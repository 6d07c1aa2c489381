#include "cli/targets.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "cli/message.h"
#include "model/job.h"

#define TARGETS_MAX 100000

int target_read(const struct command *command, const char *text, Wafer__Target *ret)
{
    wafer__target__init(ret);
    if (job_target_parse(text, ret) < 0)
        return message_fail(command, EXIT_USAGE,
                            "'%s' is no job: an id like 7, 7_3 or 7.2, or a name", text);
    return 0;
}

static void add_text(struct targets *targets, size_t *capacity, const char *text, size_t length)
{
    ARRAY_RESERVE(targets->texts, targets->count, *capacity);
    targets->texts[targets->count++] = text_copy_length(text, length);
}

static int read_input(const struct command *command, struct targets *targets, size_t *capacity)
{
    owned(free) char *line = NULL;
    size_t size = 0;

    while (getline(&line, &size, stdin) >= 0) {
        const char *word = line + strspn(line, " \t\r\n");
        size_t length = strcspn(word, " \t\r\n");

        if (targets->count >= TARGETS_MAX)
            return message_fail(command, EXIT_USAGE, "more than %d targets: do it in parts",
                                TARGETS_MAX);
        if (length)
            add_text(targets, capacity, word, length);
    }
    return ferror(stdin) ? message_fail(command, EXIT_IO, "cannot read standard input") : 0;
}

int targets_read(const struct command *command, struct targets *ret)
{
    size_t capacity = 0;
    int exit = 0;

    *ret = (struct targets){ 0 };
    for (size_t i = 0; i < command->target_count && !exit; i++) {
        const char *text = command->targets[i];
        if (strcmp(text, "-") == 0)
            exit = read_input(command, ret, &capacity);
        else
            add_text(ret, &capacity, text, strlen(text));
    }
    if (!exit && ret->count == 0)
        exit = message_fail(command, EXIT_NOTHING_MATCHED, "standard input names no job");

    ret->items = memory_new(ret->count * sizeof(*ret->items) + 1);
    for (size_t i = 0; i < ret->count && !exit; i++)
        exit = target_read(command, ret->texts[i], &ret->items[i]);
    if (exit)
        targets_done(ret);
    return exit;
}

void targets_done(struct targets *targets)
{
    for (size_t i = 0; i < targets->count; i++)
        free(targets->texts[i]);
    free(targets->texts);
    free(targets->items);
    *targets = (struct targets){ 0 };
}

int targets_confirm(const struct command *command, size_t count)
{
    char answer[16];

    if (count < 2 || command_has(command, FLAG_YES))
        return 0;
    if (command_has(command, FLAG_NO_INPUT) || !isatty(STDIN_FILENO) || !command->err.is_terminal)
        return message_fail(command, EXIT_USAGE, "%zu jobs at once: --yes says that you mean it",
                            count);
    fprintf(stderr, "wafer: %s %zu jobs? [y/N] ", command->verb->name, count);
    if (fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y'))
        return 0;
    return message_fail(command, EXIT_INTERRUPTED, "nothing was changed");
}
