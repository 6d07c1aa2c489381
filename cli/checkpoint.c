/* checkpoint — the verbs of `wafer ckpt`. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "cli/connection.h"
#include "cli/list_poll.h"
#include "cli/message.h"
#include "cli/noun.h"
#include "cli/output.h"
#include "cli/page.h"
#include "cli/run.h"
#include "cli/table.h"
#include "cli/targets.h"
#include "cli/units.h"
#include "model/job.h"

/* ---- how checkpoints are shown -------------------------------------------------------------- */

static const char *state_name(const Wafer__Checkpoint *checkpoint)
{
    const ProtobufCEnumValue *value = protobuf_c_enum_descriptor_get_value(
        &wafer__checkpoint__state__descriptor, (int)checkpoint->state);

    return checkpoint->has_state && value ? value->name : NULL;
}

static enum style state_style(const Wafer__Checkpoint *checkpoint)
{
    switch (checkpoint->state) {
    case WAFER__CHECKPOINT__STATE__VERIFIED: return STYLE_GOOD;
    case WAFER__CHECKPOINT__STATE__INCOMPLETE:
    case WAFER__CHECKPOINT__STATE__CORRUPT: return STYLE_BAD;
    default: return STYLE_NONE;
    }
}

static void print_plain(const ProtobufCMessage *item)
{
    const Wafer__Checkpoint *checkpoint = (const Wafer__Checkpoint *)item;
    struct record record = { 0 };

    output_text(&record, checkpoint->id);
    output_number(&record, checkpoint->has_job, checkpoint->job);
    output_number(&record, checkpoint->has_attempt, checkpoint->attempt);
    output_number(&record, checkpoint->has_step, checkpoint->step);
    output_text(&record, state_name(checkpoint));
    output_number(&record, checkpoint->has_bytes, (uint64_t)checkpoint->bytes);
    output_number(&record, checkpoint->has_shards, checkpoint->shards);
    output_text(&record,
                checkpoint->metric ? units_decimal(checkpoint->metric->micro, 6).text : NULL);
    output_text(&record, checkpoint->has_pinned ? checkpoint->pinned ? "yes" : "no" : NULL);
    output_time(&record, checkpoint->created_at);
    output_text(&record, checkpoint->detail);
    output_end(&record);
}

static char *name_of(const ProtobufCMessage *item)
{
    return text_copy(((const Wafer__Checkpoint *)item)->id);
}

static char *sentence_of(const ProtobufCMessage *item)
{
    const Wafer__Checkpoint *checkpoint = (const Wafer__Checkpoint *)item;
    const char *state = state_name(checkpoint);

    return text_format("checkpoint %s: %s%s%s%s", checkpoint->id, state ? state : "-",
                       checkpoint->pinned ? ", pinned" : "", checkpoint->detail ? ": " : "",
                       checkpoint->detail ? checkpoint->detail : "");
}

const struct noun checkpoint_noun = {
    .item_schema = "wafer.checkpoint/v1",
    .list_schema = "wafer.checkpoint.list/v1",
    .type = &wafer__checkpoint__descriptor,
    .envelope = &wafer__checkpoint_item__descriptor,
    .name = name_of,
    .plain = print_plain,
    .sentence = sentence_of,
};

static void print_table(const struct command *command, const ProtobufCMessage *message)
{
    const Wafer__CheckpointList *list = (const Wafer__CheckpointList *)message;
    static const struct column columns[] = {
        { "CHECKPOINT", 0, 0, false }, { "STEP", 0, 3, true },     { "STATE", 0, 0, false },
        { "SIZE", 0, 0, true },        { "SHARDS", 0, 5, true },   { "METRIC", 0, 4, true },
        { "PIN", 0, 0, false },        { "CREATED", 0, 2, false }, { "DETAIL", 32, 0, false },
    };
    owned(table_free) struct table *table = table_new(columns, ELEMENTS(columns), &command->out);
    int64_t bytes = 0;

    for (size_t i = 0; i < list->n_items; i++) {
        const Wafer__Checkpoint *checkpoint = list->items[i];

        bytes += checkpoint->bytes;
        table_cell(table, STYLE_NONE, checkpoint->id);
        table_cell(table, STYLE_NONE,
                   checkpoint->has_step ? units_grouped(checkpoint->step).text : NULL);
        table_cell(table, state_style(checkpoint), state_name(checkpoint));
        table_cell(table, STYLE_NONE,
                   checkpoint->has_bytes ? units_bytes(checkpoint->bytes).text : NULL);
        table_cell(table, STYLE_NONE,
                   checkpoint->has_shards ? units_grouped(checkpoint->shards).text : NULL);
        table_cell(table, STYLE_NONE,
                   checkpoint->metric ? units_decimal(checkpoint->metric->micro, 4).text : NULL);
        table_cell(table, STYLE_NONE, checkpoint->pinned ? "yes" : NULL);
        table_cell(table, STYLE_NONE,
                   checkpoint->created_at
                       ? units_time(checkpoint->created_at->us, command->utc).text
                       : NULL);
        table_cell(table, STYLE_NONE, checkpoint->detail);
    }
    if (list->n_items)
        table_print(table, !command_has(command, FLAG_NO_HEADER));
    output_line(command, "%zu checkpoint%s, %s", list->n_items, list->n_items == 1 ? "" : "s",
                units_bytes(bytes).text);
}

static void print_page(const struct command *command, const Wafer__Checkpoint *checkpoint)
{
    page_heading(command, state_style(checkpoint), "checkpoint %s  %s%s", checkpoint->id,
                 checkpoint->has_state ? state_name(checkpoint) : "-",
                 checkpoint->pinned ? "  pinned" : "");
    page_format(command, "job", "%" PRIu64 "  attempt %" PRIu32, checkpoint->job,
                checkpoint->attempt);
    if (checkpoint->has_lineage && checkpoint->lineage != checkpoint->job)
        page_format(command, "lineage", "%" PRIu64, checkpoint->lineage);
    page_field(command, "step", checkpoint->has_step ? units_grouped(checkpoint->step).text : NULL);
    page_format(command, "size", "%s in %" PRIu32 " shard%s", units_bytes(checkpoint->bytes).text,
                checkpoint->shards, checkpoint->shards == 1 ? "" : "s");
    if (checkpoint->metric)
        page_field(command, "metric", units_decimal(checkpoint->metric->micro, 4).text);
    page_time(command, "created", checkpoint->created_at);
    page_field(command, "manifest", checkpoint->manifest);
    if (checkpoint->detail)
        page_field(command, "detail", checkpoint->detail);
}

/* ---- verbs on a job ------------------------------------------------------------------------- */

static int list_checkpoints(const struct command *command, Wafer__Request *request)
{
    return list_poll(command, &checkpoint_noun, request, BIT(WAFER__RESPONSE__BODY_CHECKPOINTS),
                     print_table);
}

int run_ckpt_ls(const struct command *command)
{
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__CheckpointListRequest body = WAFER__CHECKPOINT_LIST_REQUEST__INIT;
    Wafer__Target target;
    int exit = target_read(command, command->targets[0], &target);

    body.target = &target;
    request.body_case = WAFER__REQUEST__BODY_CHECKPOINT_LIST;
    request.checkpoint_list = &body;
    return exit ? exit : list_checkpoints(command, &request);
}

int run_ckpt_prune(const struct command *command)
{
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__CheckpointPruneRequest body = WAFER__CHECKPOINT_PRUNE_REQUEST__INIT;
    Wafer__Target target;
    int exit = target_read(command, command->targets[0], &target);

    body.target = &target;
    body.has_dry_run = body.dry_run = command_has(command, FLAG_DRY_RUN);
    request.body_case = WAFER__REQUEST__BODY_CHECKPOINT_PRUNE;
    request.checkpoint_prune = &body;
    return exit ? exit : list_checkpoints(command, &request);
}

/* ---- verbs on checkpoints ------------------------------------------------------------------- */

static int read_checkpoint(const struct command *command, const char *text,
                           Wafer__CheckpointTarget *ret)
{
    uint64_t epoch;

    wafer__checkpoint_target__init(ret);
    if (checkpoint_target_parse(text, &ret->job, &ret->step, &epoch) < 0)
        return message_fail(command, EXIT_USAGE,
                            "'%s' is no checkpoint: JOB@STEP, as 'wafer ckpt ls' lists them", text);
    ret->has_step = true;
    ret->has_epoch = epoch > 0;
    ret->epoch = epoch;
    return 0;
}

static void print_one(const struct command *command, const Wafer__Checkpoint *checkpoint,
                      bool is_line)
{
    if (noun_print_item(command, &checkpoint_noun, &checkpoint->base, is_line) ||
        command_has(command, FLAG_QUIET))
        return;
    owned(free) char *sentence = sentence_of(&checkpoint->base);
    output_line(command, "%s", sentence);
}

typedef void (*print_fn)(const struct command *command, const Wafer__Checkpoint *checkpoint,
                         bool is_line);

/* `target` is the one that the request points to. One after the other: verifying reads much. */
static int each_checkpoint(const struct command *command, Wafer__Request *request,
                           Wafer__CheckpointTarget *target, print_fn print)
{
    owned(connection_close) struct connection *connection = NULL;
    owned(words_done) struct words words = { .count = 0 };
    int worst = 0;
    int exit = noun_check_columns(command, &checkpoint_noun);

    if (!exit)
        exit = words_read(command, "checkpoint", &words);
    if (!exit)
        exit = connection_open(command, &connection);
    for (size_t i = 0; i < words.count && !exit; i++) {
        owned(response_free) Wafer__Response *response = NULL;
        int failed = read_checkpoint(command, words.items[i], target);

        if (!failed)
            failed = connection_call(connection, request, BIT(WAFER__RESPONSE__BODY_CHECKPOINTS),
                                     &response);
        for (size_t j = 0; response && j < response->checkpoints->n_items; j++) {
            const Wafer__Checkpoint *checkpoint = response->checkpoints->items[j];
            print(command, checkpoint, words.count > 1);
            if (checkpoint->state == WAFER__CHECKPOINT__STATE__CORRUPT)
                failed = EXIT_DIFFERENT;
        }
        if (failed && connection_is_broken(connection))
            exit = failed;
        worst = worst ? worst : failed;
    }
    return exit ? exit : worst;
}

static void print_whole(const struct command *command, const Wafer__Checkpoint *checkpoint,
                        bool is_line)
{
    if (!noun_print_item(command, &checkpoint_noun, &checkpoint->base, is_line))
        print_page(command, checkpoint);
}

int run_ckpt_show(const struct command *command)
{
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__CheckpointShowRequest body = WAFER__CHECKPOINT_SHOW_REQUEST__INIT;
    Wafer__CheckpointTarget target;

    body.target = &target;
    request.body_case = WAFER__REQUEST__BODY_CHECKPOINT_SHOW;
    request.checkpoint_show = &body;
    int exit = each_checkpoint(command, &request, &target, print_whole);
    return exit == EXIT_DIFFERENT ? 0 : exit; /* to look at a corrupt one is no failure */
}

int run_ckpt_verify(const struct command *command)
{
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__CheckpointVerifyRequest body = WAFER__CHECKPOINT_VERIFY_REQUEST__INIT;
    Wafer__CheckpointTarget target;

    body.target = &target;
    request.body_case = WAFER__REQUEST__BODY_CHECKPOINT_VERIFY;
    request.checkpoint_verify = &body;
    return each_checkpoint(command, &request, &target, print_one);
}

static int pin(const struct command *command, bool pinned)
{
    Wafer__Request request = WAFER__REQUEST__INIT;
    Wafer__CheckpointPinRequest body = WAFER__CHECKPOINT_PIN_REQUEST__INIT;
    Wafer__CheckpointTarget target;

    body.target = &target;
    body.pinned = pinned;
    request.body_case = WAFER__REQUEST__BODY_CHECKPOINT_PIN;
    request.checkpoint_pin = &body;
    return each_checkpoint(command, &request, &target, print_one);
}

int run_ckpt_pin(const struct command *command)
{
    return pin(command, true);
}

int run_ckpt_unpin(const struct command *command)
{
    return pin(command, false);
}
