#include "cli/event_line.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "cli/noun.h"
#include "cli/output.h"
#include "cli/text.h"
#include "cli/units.h"
#include "cli/user.h"
#include "model/job.h"

void event_line_print(const struct command *command, const Wafer__Event *event, const char *indent,
                      bool names_job)
{
    owned(buffer_done) struct buffer line = BUFFER_EMPTY;
    bool has_cause = event->has_cause && event->cause != WAFER__CAUSE__NO_CAUSE;

    buffer_format(&line, "%s  %-20s", units_time(event->at->us, command->utc).text, event->kind);
    if (names_job && event->has_job)
        buffer_format(&line, "  job %" PRIu64, event->job);
    if (event->system && *event->system)
        buffer_format(&line, "  %s", event->system);
    if (event->has_uid)
        buffer_format(&line, "  by %s", user_name(event->uid));
    if (event->role)
        buffer_format(&line, " as %s", event->role);
    if (has_cause)
        buffer_format(&line, "  %s", cause_name(event->cause));
    if (event->text && *event->text)
        buffer_format(&line, "  %s", event->text);

    owned(free) char *text = buffer_text(&line);
    owned(free) char *shown = text_display(text, command->out.is_utf8);
    printf("%s%s\n", indent, shown);
}

static void print_plain(const ProtobufCMessage *item)
{
    const Wafer__Event *event = (const Wafer__Event *)item;
    struct record record = { 0 };

    output_number(&record, true, event->sequence);
    output_time(&record, event->at);
    output_text(&record, event->kind);
    output_number(&record, event->has_job, event->job);
    output_text(&record, event->system);
    output_text(&record, event->has_uid ? user_name(event->uid) : NULL);
    output_text(&record, event->has_cause && event->cause ? cause_name(event->cause) : NULL);
    output_text(&record, event->text);
    output_text(&record, event->role);
    output_end(&record);
}

static char *name_of(const ProtobufCMessage *item)
{
    return text_format("%" PRIu64, ((const Wafer__Event *)item)->sequence);
}

const struct noun event_noun = {
    .item_schema = "wafer.event/v1",
    .list_schema = "wafer.event.list/v1",
    .type = &wafer__event__descriptor,
    .envelope = &wafer__event_item__descriptor,
    .name = name_of,
    .plain = print_plain,
};
