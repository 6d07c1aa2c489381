/* bind — between text and the messages of proto/, by their descriptors.
 *
 * YAML (libyaml) to message, strictly; message to JSON (jansson) and YAML; one value set by its
 * path. Nothing else parses YAML or prints JSON by hand. A few message types are written as text:
 *
 *     Duration 90m, 1-00:00:00     Size 1.5T         Time 2026-02-01T08:00:00+01:00
 *     Money "900.00 EUR"           Decimal 2.30      Count 24334, 26.3e9
 *     Priority p2                  Label confidential+ip
 *     Cadence auto | a Duration | {steps, time}      repeated KeyValue: a mapping
 *
 * All scalars are read as text and then typed by the schema, quoted or not; `null` and `~`, not
 * quoted, leave a key unset.
 */
#ifndef WAFERD_MODEL_BIND_H
#define WAFERD_MODEL_BIND_H

#include <jansson.h>
#include <protobuf-c/protobuf-c.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/diag.h"

struct bind_error {
    unsigned line, column; /* from 1; 0: no place */
    char *field;           /* path like checkpoint.every, or NULL */
    char *text;            /* what is wrong, what would be right */
};

struct bind_errors {
    struct bind_error *items; /* at most LIMIT_BIND_ERRORS */
    size_t count;
    bool cut; /* there were more */
};

void bind_errors_done(struct bind_errors *errors);
void bind_errors_add(struct bind_errors *errors, unsigned line, unsigned column, const char *field,
                     const char *format, ...) __attribute__((format(printf, 5, 6)));
/* "file:line:column: field: text", parts that are not known left out; the caller frees. */
char *bind_error_format(const struct bind_error *error, const char *file);

/* Where in the text each path of a message was, so that a later check can name the place. */
struct bind_places;
struct bind_places *bind_places_free(struct bind_places *places); /* always NULL */
/* Place of `field`, or of its nearest parent; 0, 0 if there is none. */
void bind_place(const struct bind_places *places, const char *field, unsigned *ret_line,
                unsigned *ret_column);

/* Where a check of what was read puts what it finds; `places` may be NULL. */
struct bind_report {
    const struct bind_places *places;
    struct bind_errors *errors;
};
/* An error at the place of `field`. */
void bind_refuse(const struct bind_report *report, const char *field, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void bind_vrefuse(const struct bind_report *report, const char *field, const char *format,
                  va_list arguments) __attribute__((format(printf, 3, 0)));

/* Read one document of at most `limit` bytes. Several errors are reported in one run.
 * -EINVAL with errors. `ret_places` may be NULL. Free with protobuf_c_message_free_unpacked(). */
int bind_yaml(const ProtobufCMessageDescriptor *type, const char *text, size_t length, size_t limit,
              ProtobufCMessage **ret, struct bind_places **ret_places, struct bind_errors *errors);

/* As bind_yaml(), with each "a.b.c=value" of `sets` (NULL ends them) as if the file had it: a key
 * that the file left out counts as there. */
int bind_yaml_with(const ProtobufCMessageDescriptor *type, const char *text, size_t length,
                   size_t limit, const char *const *sets, ProtobufCMessage **ret,
                   struct bind_places **ret_places, struct bind_errors *errors);

/* Set "a.b.c=value" in a message: as if the file had it. Lists: "after=[...]" in YAML flow style.
 */
int bind_set(ProtobufCMessage *message, const char *assignment, struct bind_errors *errors);

/* What a message must satisfy that came packed, not as text: the limits and rules that reading a
 * file applies. `places` may be NULL. -EINVAL with errors */
int bind_check(const ProtobufCMessage *message, const struct bind_places *places,
               struct bind_errors *errors);

/* Every key present, absent = null; integers and decimals as numbers, exact in the text (a uint64
 * beyond int64 is a string); enums as their names, `bytes` as hex, bad UTF-8 as U+FFFD; control
 * characters always escaped. The caller owns it. */
json_t *bind_json(const ProtobufCMessage *message);
char *bind_json_text(const ProtobufCMessage *message, bool pretty); /* the caller frees */

/* Only keys that are set, in schema order, as bind_yaml() reads them. The caller frees. */
char *bind_yaml_text(const ProtobufCMessage *message);

/* Each single value that is set, in the order of the schema: its path, as errors name it, and its
 * text as in YAML but without quotes. */
void bind_leaves(const ProtobufCMessage *message,
                 void (*each)(void *userdata, const char *path, const char *text), void *userdata);

/* Called for each key of the message itself that differs, with both values as people write them and
 * "default" for what is not set; both are NULL when one is a list or a message. */
typedef void (*bind_differ_fn)(void *userdata, const char *key, const char *from, const char *to);

/* Compare two messages of one type, key by key in schema order. */
void bind_differ(const ProtobufCMessage *from, const ProtobufCMessage *to, bind_differ_fn differ,
                 void *userdata);

enum bind_schema {
    BIND_SCHEMA_OUTPUT, /* of what bind_json() makes: every key is there */
    BIND_SCHEMA_FILE,   /* of what bind_yaml() takes: strict, and any scalar may be a text */
};

/* The JSON Schema (2020-12) of a message. `constants`: keys and the one value that each has, in
 * turn; NULL ends them. The caller owns it. */
json_t *bind_schema(const ProtobufCMessageDescriptor *type, enum bind_schema kind,
                    const char *const *constants);

/* The nearest of `names` (NULL ends them) to what somebody wrote, or NULL when none is near. */
const char *bind_nearest(const char *written, const char *const *names);

#endif
