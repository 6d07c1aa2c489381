#include "cli/arguments.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "cli/message.h"
#include "model/bind.h"

struct words {
    int argc, next;
    char *const *argv;
};

static bool is_same(const char *a, const char *b)
{
    return (!a && !b) || (a && b && strcmp(a, b) == 0);
}

const struct verb *verb_find(const char *group, const char *name)
{
    for (size_t i = 0; i < verbs_count; i++)
        if (is_same(verbs[i].group, group) && strcmp(verbs[i].name, name) == 0)
            return &verbs[i];
    return NULL;
}

const struct group *group_find(const char *name)
{
    for (size_t i = 0; i < groups_count; i++)
        if (strcmp(groups[i].name, name) == 0)
            return &groups[i];
    return NULL;
}

char *verb_suggest(const struct group *group, const char *name)
{
    owned(free) const char **names = memory_new((verbs_count + groups_count + 1) * sizeof(*names));
    const char *group_name = group ? group->name : NULL;
    size_t count = 0;

    for (size_t i = 0; i < verbs_count; i++)
        if (is_same(verbs[i].group, group_name))
            names[count++] = verbs[i].name;
    for (size_t i = 0; !group && i < groups_count; i++)
        names[count++] = groups[i].name;

    const char *nearest = bind_nearest(name, names);
    const char *before = group ? group->name : "", *space = group ? " " : "";
    if (nearest)
        return text_format("did you mean 'wafer %s%s%s'?", before, space, nearest);
    return text_format("'wafer help%s%s' lists them", space, before);
}

/* The flag of this verb, or of every verb, that has that name; FLAGS if there is none. */
static enum flag_id flag_find(const struct verb *verb, const char *name, size_t length)
{
    for (enum flag_id i = 0; i < FLAGS; i++)
        if (verb_takes(verb, i) && strlen(flags[i].name) == length &&
            memcmp(flags[i].name, name, length) == 0)
            return i;
    return FLAGS;
}

static enum flag_id letter_find(const struct verb *verb, char letter)
{
    for (enum flag_id i = 0; i < FLAGS; i++)
        if (verb_takes(verb, i) && flags[i].letter == letter)
            return i;
    return FLAGS;
}

static bool is_flag_of_any_verb(const char *name)
{
    for (enum flag_id i = 0; i < FLAGS; i++)
        if (strcmp(flags[i].name, name) == 0)
            return true;
    return false;
}

static int unknown_flag(const struct command *command, const char *word, size_t length)
{
    const char *names[FLAGS + 1];
    size_t count = 0;
    owned(free) char *name = text_copy_length(word, length);

    for (enum flag_id i = 0; i < FLAGS; i++)
        if (verb_takes(command->verb, i))
            names[count++] = flags[i].name;
    names[count] = NULL;
    const char *nearest = bind_nearest(name, names);

    if (nearest)
        return message_fail(command, EXIT_USAGE, "unknown flag '--%s': did you mean '--%s'?", name,
                            nearest);
    if (!command->verb && is_flag_of_any_verb(name))
        return message_fail(command, EXIT_USAGE, "flag '--%s' belongs to a verb: write it after it",
                            name);
    char room[64];
    const char *verb = command_name(command, room, sizeof(room));
    return message_fail(command, EXIT_USAGE, "unknown flag '--%s': 'wafer %s%s-h' lists them", name,
                        verb, *verb ? " " : "");
}

static void store_flag(struct command *command, enum flag_id id, const char *value)
{
    command->values[id] = value;
    if (id == FLAG_SET)
        command->sets[command->set_count++] = value;
    if (id == FLAG_LABEL)
        command->labels[command->label_count++] = value;
}

/* `value`: what stood after '=' or the letter, or NULL. */
static int take_flag(struct command *command, struct words *words, enum flag_id id,
                     const char *value)
{
    const struct flag *flag = &flags[id];

    if (!flag->argument && value)
        return message_fail(command, EXIT_USAGE, "flag '--%s' takes no value: leave out '=%s'",
                            flag->name, value);
    if (flag->argument && !value && !flag->argument_optional) {
        if (words->next == words->argc)
            return message_fail(command, EXIT_USAGE, "flag '--%s' needs a value: --%s %s",
                                flag->name, flag->name, flag->argument);
        value = words->argv[words->next++];
    }
    store_flag(command, id, value ? value : "");
    return 0;
}

static int take_long(struct command *command, struct words *words, const char *word)
{
    size_t length = strcspn(word, "=");
    enum flag_id id = flag_find(command->verb, word, length);

    if (id == FLAGS)
        return unknown_flag(command, word, length);
    return take_flag(command, words, id, word[length] ? word + length + 1 : NULL);
}

static int take_letters(struct command *command, struct words *words, const char *letters)
{
    for (; *letters; letters++) {
        enum flag_id id = letter_find(command->verb, *letters);

        if (id == FLAGS)
            return message_fail(command, EXIT_USAGE,
                                "unknown flag '-%c': long flags have two dashes, 'wafer help' "
                                "lists them",
                                *letters);
        if (!flags[id].argument) {
            store_flag(command, id, "");
            continue;
        }
        const char *value = letters[1] ? letters + 1 : NULL;
        return take_flag(command, words, id, value);
    }
    return 0;
}

static int take_word(struct command *command, const char *word)
{
    if (command->verb) {
        command->targets[command->target_count++] = word;
        return 0;
    }
    const char *group = command->group ? command->group->name : NULL;
    command->verb = verb_find(group, word);
    if (command->verb)
        return 0;
    if (!group && (command->group = group_find(word)))
        return 0;
    owned(free) char *suggestion = verb_suggest(command->group, word);
    return message_fail(command, EXIT_USAGE, "unknown verb '%s': %s", word, suggestion);
}

static int check_targets(const struct command *command)
{
    const struct verb *verb = command->verb;

    if (!verb || command_has(command, FLAG_HELP) || command_has(command, FLAG_VERSION))
        return 0;
    if (command->target_count < verb->targets_min)
        return message_fail(command, EXIT_USAGE, "%s is missing: 'wafer %s%s%s %s'",
                            verb->targets_max == 1 ? "the target" : "a target",
                            verb->group ? verb->group : "", verb->group ? " " : "", verb->name,
                            verb->targets);
    if (command->target_count > verb->targets_max)
        return message_fail(command, EXIT_USAGE, "'%s' is one word too many: 'wafer %s%s%s%s%s'",
                            command->targets[verb->targets_max], verb->group ? verb->group : "",
                            verb->group ? " " : "", verb->name, verb->targets ? " " : "",
                            verb->targets ? verb->targets : "");
    return 0;
}

int arguments_parse(int argc, char *const *argv, struct command *command)
{
    struct words words = { .argc = argc, .next = 1, .argv = argv };
    bool options_ended = false;

    command->sets = memory_new(((size_t)argc + 1) * sizeof(*command->sets));
    command->labels = memory_new(((size_t)argc + 1) * sizeof(*command->labels));
    command->targets = memory_new(((size_t)argc + 1) * sizeof(*command->targets));
    while (words.next < argc) {
        const char *word = argv[words.next++];
        int exit;

        if (options_ended || word[0] != '-' || !word[1])
            exit = take_word(command, word);
        else if (word[1] != '-')
            exit = take_letters(command, &words, word + 1);
        else if (word[2])
            exit = take_long(command, &words, word + 2);
        else
            exit = 0, options_ended = true;
        if (exit)
            return exit;
    }
    return check_targets(command);
}
