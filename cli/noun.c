#include "cli/noun.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "cli/item_key.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/table.h"
#include "model/bind.h"
#include "view.pb-c.h"

/* The envelopes of view.proto have the same fields in the same order, whatever is in them. */
struct list_envelope {
    ProtobufCMessage base;
    char *schema;
    Wafer__Time *generated_at;
    protobuf_c_boolean has_total;
    uint64_t total;
    protobuf_c_boolean has_truncated;
    protobuf_c_boolean truncated;
    size_t n_items;
    ProtobufCMessage **items;
};
struct item_envelope {
    ProtobufCMessage base;
    char *schema;
    ProtobufCMessage *item;
};
#define IS_LIST(type)                                                                              \
    _Static_assert(offsetof(struct list_envelope, total) == offsetof(type, total) &&               \
                       offsetof(struct list_envelope, truncated) == offsetof(type, truncated) &&   \
                       offsetof(struct list_envelope, items) == offsetof(type, items),             \
                   #type " is laid out like any list")
#define IS_ITEM(type)                                                                              \
    _Static_assert(sizeof(struct item_envelope) == sizeof(type) &&                                 \
                       offsetof(struct item_envelope, item) == offsetof(type, item),               \
                   #type " is laid out like any item")
IS_LIST(Wafer__JobList);
IS_LIST(Wafer__EventList);
IS_LIST(Wafer__CheckpointList);
IS_LIST(Wafer__SystemList);
IS_LIST(Wafer__QueueList);
IS_LIST(Wafer__QuotaList);
IS_LIST(Wafer__SettingList);
IS_ITEM(Wafer__JobItem);
IS_ITEM(Wafer__EventItem);
IS_ITEM(Wafer__CheckpointItem);
IS_ITEM(Wafer__SystemItem);
IS_ITEM(Wafer__QueueItem);
IS_ITEM(Wafer__QuotaItem);
IS_ITEM(Wafer__SettingItem);

ProtobufCMessage **noun_items(const ProtobufCMessage *list, size_t *ret_count)
{
    const struct list_envelope *envelope = (const struct list_envelope *)list;

    *ret_count = envelope->n_items;
    return envelope->items;
}

/* ---- chosen columns ------------------------------------------------------------------------- */

struct choice {
    struct item_key *keys;
    struct column *columns;
    char **titles;
    size_t count;
};

static void choice_donep(struct choice *choice)
{
    for (size_t i = 0; i < choice->count; i++) {
        item_key_done(&choice->keys[i]);
        free(choice->titles[i]);
    }
    free(choice->keys);
    free(choice->columns);
    free(choice->titles);
}

static char *title_of(const char *path)
{
    char *title = text_copy(path);

    for (char *c = title; *c; c++)
        if (*c >= 'a' && *c <= 'z')
            *c = (char)(*c - 'a' + 'A');
    return title;
}

static int refuse_key(const struct command *command, const char *key, const char *nearest)
{
    const struct setting *output = command_setting(command, SETTING_OUTPUT);
    const struct setting *columns = command_setting(command, SETTING_LS_COLUMNS);
    const struct setting *origin = command->columns == columns->value ? columns : output;

    return message_fail(
        command, setting_exit(origin), "%s: there is no column '%s': %s%s", origin->origin, key,
        nearest ? "did you mean " : "the keys are those of -o json", nearest ? nearest : "");
}

static int choose(const struct command *command, const struct noun *noun, struct choice *ret)
{
    owned(free) char *copy = text_copy(command->columns);
    size_t most = 1;

    for (const char *c = copy; *c; c++)
        most += *c == ',';
    ret->keys = memory_new(most * sizeof(*ret->keys));
    ret->columns = memory_new(most * sizeof(*ret->columns));
    ret->titles = memory_new(most * sizeof(*ret->titles));
    for (char *word, *rest = copy; (word = strsep(&rest, ","));) {
        struct item_key *key = &ret->keys[ret->count];
        const char *nearest;

        if (item_key_parse(noun->type, word, key, &nearest) < 0)
            return refuse_key(command, word, nearest);
        ret->titles[ret->count] = title_of(word);
        ret->columns[ret->count] =
            (struct column){ .title = ret->titles[ret->count], .right = item_key_is_number(key) };
        ret->count++;
    }
    return 0;
}

int noun_check_columns(const struct command *command, const struct noun *noun)
{
    owned(choice_done) struct choice choice = { .count = 0 };

    return command->format == FORMAT_COLUMNS ? choose(command, noun, &choice) : 0;
}

static void print_columns(const struct command *command, const struct noun *noun,
                          ProtobufCMessage *const *items, size_t count, bool header)
{
    owned(choice_done) struct choice choice = { .count = 0 };
    struct screen whole = command->out;

    if (choose(command, noun, &choice))
        return;           /* was checked, and told, before */
    whole.is_wide = true; /* who chose them wants to see them */
    owned(table_free) struct table *table = table_new(choice.columns, choice.count, &whole);
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < choice.count; j++) {
            owned(free) char *text = item_key_text(&choice.keys[j], items[i], command->utc);
            table_cell(table, STYLE_NONE, text);
        }
    }
    table_print(table, header && !command_has(command, FLAG_NO_HEADER));
}

/* ---- formats -------------------------------------------------------------------------------- */

static void print_yaml(const ProtobufCMessage *message, bool is_line)
{
    owned(free) char *text = bind_yaml_text(message);

    printf("%s%s", is_line ? "---\n" : "", text);
}

static void print_envelope(const struct noun *noun, const ProtobufCMessage *item,
                           enum format format, bool is_line)
{
    struct item_envelope envelope;

    protobuf_c_message_init(noun->envelope, (ProtobufCMessage *)&envelope);
    envelope.schema = (char *)noun->item_schema;
    envelope.item = (ProtobufCMessage *)item;
    if (format == FORMAT_YAML)
        print_yaml(&envelope.base, is_line);
    else if (is_line || format == FORMAT_NDJSON)
        output_json_line(&envelope.base);
    else
        output_json(&envelope.base);
}

bool noun_print_item(const struct command *command, const struct noun *noun,
                     const ProtobufCMessage *item, bool is_line)
{
    ProtobufCMessage *items[] = { (ProtobufCMessage *)item };

    switch (command->format) { /* no default: adding a format makes the compiler point here */
    case FORMAT_JSON:
    case FORMAT_NDJSON:
    case FORMAT_YAML: print_envelope(noun, item, command->format, is_line); return true;
    case FORMAT_NAME: {
        owned(free) char *name = noun->name(item);
        puts(name);
        return true;
    }
    case FORMAT_PLAIN: noun->plain(item); return true;
    case FORMAT_COLUMNS: print_columns(command, noun, items, 1, !is_line); return true;
    case FORMAT_TABLE:
    case FORMAT_WIDE:
    case FORMATS: break;
    }
    return false;
}

static void fill_envelope(const struct noun *noun, struct list_envelope *list)
{
    output_envelope(noun->list_schema, &list->schema, &list->generated_at);
    if (!list->has_total) {
        list->has_total = true;
        list->total = list->n_items;
    }
    if (!list->has_truncated) {
        list->has_truncated = true;
        list->truncated = list->n_items < list->total;
    }
}

bool noun_print_list(const struct command *command, const struct noun *noun,
                     ProtobufCMessage *message)
{
    struct list_envelope *list = (struct list_envelope *)message;

    if (command_is_for_people(command))
        return false;
    if (command->format == FORMAT_JSON || command->format == FORMAT_YAML) {
        fill_envelope(noun, list);
        if (command->format == FORMAT_JSON)
            output_json(message);
        else
            print_yaml(message, false);
        return true;
    }
    if (command->format == FORMAT_COLUMNS) {
        print_columns(command, noun, list->items, list->n_items, true);
        return true;
    }
    for (size_t i = 0; i < list->n_items; i++)
        noun_print_item(command, noun, list->items[i], true);
    return true;
}
