/* item_key — one key of what a list holds, by the path that it has in JSON: state, progress.step,
 * labels.pilot. */
#ifndef WAFERD_CLI_ITEM_KEY_H
#define WAFERD_CLI_ITEM_KEY_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>

#define ITEM_KEY_DEPTH 4

struct item_key {
    const ProtobufCFieldDescriptor *fields[ITEM_KEY_DEPTH];
    unsigned depth;
    char *pair; /* of a mapping: its key, or NULL */
};

/* -EINVAL: there is none; `ret_nearest` is one that comes near, or NULL. */
int item_key_parse(const ProtobufCMessageDescriptor *type, const char *path, struct item_key *ret,
                   const char **ret_nearest);
void item_key_done(struct item_key *key);

bool item_key_is_number(const struct item_key *key);

/* The value as a reader sees it: texts without quotes, elements of a list between commas, times in
 * their zone, anything larger as JSON. NULL: there is none. The caller frees. */
char *item_key_text(const struct item_key *key, const ProtobufCMessage *item, bool utc);

/* Below 0, 0 or above 0 as the value of `a` is before that of `b`. `ret_unset`: how many of the two
 * have none; then the one that has none is after the other. */
int item_key_compare(const struct item_key *key, const ProtobufCMessage *a,
                     const ProtobufCMessage *b, int *ret_unset);

#endif
