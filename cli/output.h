/* output — data on stdout: the envelopes of view.proto as JSON, and fields between tabs.
 *
 * Errors of stdout are kept and told once, by output_finish(). */
#ifndef WAFERD_CLI_OUTPUT_H
#define WAFERD_CLI_OUTPUT_H

#include <protobuf-c/protobuf-c.h>
#include <stdint.h>

#include "cli/command.h"
#include "view.pb-c.h"

/* One document; of a stream, one line. */
void output_json(const ProtobufCMessage *message);
void output_json_line(const ProtobufCMessage *message);

/* One that is neither an item nor a list, in the formats that have documents; `ndjson` and `yaml`
 * have them too. False: the format has none, and nothing was printed. */
bool output_document(const struct command *command, const ProtobufCMessage *message);

/* What is the same in every list: its schema, and the time where the controller gave none. */
void output_envelope(const char *name, char **schema, Wafer__Time **generated_at);

/* A line for people; it may hold anything, and is made safe to show. */
void output_line(const struct command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A record of `plain`: fields are separated, escaped, and ended by output_end(). */
struct record {
    bool has_fields;
};
void output_text(struct record *record, const char *text); /* NULL: '-' */
void output_number(struct record *record, bool has, uint64_t number);
void output_time(struct record *record, const Wafer__Time *time);
void output_end(struct record *record);

/* After what should be seen at once. True while somebody reads; then stop with output_finish(). */
bool output_flush(void);

/* The last word on stdout: `exit`, or 74 when something could not be written, or 141, silently,
 * when the reader left. */
int output_finish(const struct command *command, int exit);

#endif
