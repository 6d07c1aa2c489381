/* noun — the things of one kind, as the formats for scripts print them, whatever verb does. */
#ifndef WAFERD_CLI_NOUN_H
#define WAFERD_CLI_NOUN_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>

#include "cli/command.h"

struct noun {
    const char *item_schema, *list_schema;      /* wafer.job/v1, wafer.job.list/v1 */
    const ProtobufCMessageDescriptor *type;     /* of an item */
    const ProtobufCMessageDescriptor *envelope; /* {schema, item} */
    char *(*name)(const ProtobufCMessage *item);
    void (*plain)(const ProtobufCMessage *item);
    /* What it is now, in a line, for --watch without a terminal; NULL: it cannot be watched. */
    char *(*sentence)(const ProtobufCMessage *item);
};
extern const struct noun job_noun, event_noun, checkpoint_noun, system_noun, queue_noun, quota_noun,
    reservation_noun, setting_noun;

/* Before anything is asked for: the keys of -o cols=. 64, or 78 when a setting named them. */
int noun_check_columns(const struct command *command, const struct noun *noun);

/* A list, in its envelope where the format has one. False: it is for people, and nothing was
 * printed. */
bool noun_print_list(const struct command *command, const struct noun *noun,
                     ProtobufCMessage *list);

/* One thing; `is_line`: one of several that come one after the other. */
bool noun_print_item(const struct command *command, const struct noun *noun,
                     const ProtobufCMessage *item, bool is_line);

/* The items of a list, of any kind. */
ProtobufCMessage **noun_items(const ProtobufCMessage *list, size_t *ret_count);

#endif
