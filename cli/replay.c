/* replay — what wafer-replay found, which has the scheduler; it needs no controller. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "cli/helper.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/page.h"
#include "cli/run.h"
#include "cli/table.h"
#include "cli/units.h"
#include "view.pb-c.h"

#define HELPER "wafer-replay"

static const enum flag_id passed_on[] = {
    FLAG_REPLAY_SYSTEMS, FLAG_BACKFILL, FLAG_ORDER,       FLAG_ESTIMATES,
    FLAG_TIES,           FLAG_SCHEDULE, FLAG_PICTURE,     FLAG_STRICT,
    FLAG_FAILURES,       FLAG_SEED,     FLAG_CHECKPOINTS, FLAG_POLICIES,
};

static void replay_arguments(const struct command *command,
                             char *words[static ELEMENTS(passed_on) + 3])
{
    size_t count = 0;

    for (size_t i = 0; i < ELEMENTS(passed_on); i++) {
        const struct flag *flag = &flags[passed_on[i]];
        if (!command_has(command, passed_on[i]))
            continue;
        words[count++] = flag->argument
                             ? text_format("--%s=%s", flag->name, command->values[passed_on[i]])
                             : text_format("--%s", flag->name);
    }
    words[count++] = text_copy("--");
    words[count++] = text_copy(command->targets[0]);
    words[count] = NULL;
}

/* ---- names and numbers ---- */

struct flag_value {
    char text[32];
};

/* As flags take it: names of a schema have no dashes. */
static struct flag_value flag_value(const ProtobufCEnumDescriptor *type, int value)
{
    const ProtobufCEnumValue *found = protobuf_c_enum_descriptor_get_value(type, value);
    const char *name = found ? found->name : "?";
    struct flag_value ret = { "" };

    for (size_t i = 0; name[i] && i + 1 < sizeof(ret.text); i++)
        ret.text[i] = name[i] == '_' ? '-' : name[i];
    return ret;
}

static struct flag_value backfill_of(const Wafer__ReplayRun *run)
{
    return flag_value(&wafer__scheduling__backfill__descriptor, (int)run->backfill);
}

static struct flag_value order_of(const Wafer__ReplayRun *run)
{
    return flag_value(&wafer__scheduling__order__descriptor, (int)run->order);
}

/* ---- what is compared ---- */

struct measure {
    const char *title;
    uint64_t (*of)(const Wafer__ReplayRun *run);
    struct unit_text (*text)(uint64_t value);
    bool more_is_better;
};

static uint64_t mean_wait(const Wafer__ReplayRun *run)
{
    return run->measures->mean_wait_ms;
}

static uint64_t median_wait(const Wafer__ReplayRun *run)
{
    return run->measures->median_wait_s;
}

static uint64_t wait_90(const Wafer__ReplayRun *run)
{
    return run->measures->wait_90_s;
}

static uint64_t longest_wait(const Wafer__ReplayRun *run)
{
    return run->measures->longest_wait_s;
}

static uint64_t slowdown(const Wafer__ReplayRun *run)
{
    return run->measures->mean_slowdown_milli;
}

static uint64_t utilisation(const Wafer__ReplayRun *run)
{
    return run->utilisation_ppm;
}

static uint64_t makespan(const Wafer__ReplayRun *run)
{
    return run->measures->makespan_s;
}

static uint64_t fairness(const Wafer__ReplayRun *run)
{
    return run->has_fairness_ppm ? run->fairness_ppm : 0;
}

static uint64_t lost(const Wafer__ReplayRun *run)
{
    return run->lost_system_s;
}

static struct unit_text seconds_text(uint64_t seconds)
{
    return units_seconds((int64_t)seconds);
}

static struct unit_text ms_text(uint64_t ms)
{
    return units_seconds((int64_t)((ms + 500) / 1000));
}

static struct unit_text milli_text(uint64_t milli)
{
    return units_decimal((int64_t)milli * 1000, 2);
}

static struct unit_text percent_text(uint64_t ppm)
{
    struct unit_text ret = units_decimal((int64_t)ppm * 100, 2);

    strncat(ret.text, " %", sizeof(ret.text) - strlen(ret.text) - 1);
    return ret;
}

static struct unit_text ratio_text(uint64_t ppm)
{
    return units_decimal((int64_t)ppm, 3);
}

static struct unit_text hours_text(uint64_t seconds)
{
    return units_grouped(seconds / 3600);
}

enum { WAIT, MEDIAN, WAIT_90, LONGEST, SLOWDOWN, USED, MAKESPAN, FAIRNESS, LOST };

static const struct measure measures[] = {
    [WAIT] = { "WAIT", mean_wait, ms_text, false },
    [MEDIAN] = { "MEDIAN", median_wait, seconds_text, false },
    [WAIT_90] = { "90TH", wait_90, seconds_text, false },
    [LONGEST] = { "LONGEST", longest_wait, seconds_text, false },
    [SLOWDOWN] = { "SLOWDOWN", slowdown, milli_text, false },
    [USED] = { "USED", utilisation, percent_text, true },
    [MAKESPAN] = { "MAKESPAN", makespan, seconds_text, false },
    [FAIRNESS] = { "FAIRNESS", fairness, ratio_text, true },
    [LOST] = { "LOST", lost, hours_text, false },
};

/* Fairness needs users, and what is lost needs failures. */
static bool has_measure(const Wafer__ReplayRun *run, size_t measure)
{
    return measure == FAIRNESS ? run->has_fairness_ppm
           : measure == LOST   ? run->has_lost_system_s
                               : true;
}

/* Of several runs, is this the best (or one of the best) by that measure? */
static bool is_best(const Wafer__Replay *replay, size_t run, const struct measure *measure)
{
    uint64_t value = measure->of(replay->items[run]);
    bool differs = false;

    for (size_t i = 0; i < replay->n_items; i++) {
        uint64_t other = measure->of(replay->items[i]);
        if (measure->more_is_better ? other > value : other < value)
            return false;
        differs |= other != value;
    }
    return differs;
}

/* ---- tables ---- */

static const struct column columns[] = {
    { "SYSTEMS", 0, 0, true }, { "BACKFILL", 0, 0, false }, { "ORDER", 0, 0, false },
    { "JOBS", 0, 3, true },    { "WAIT", 0, 0, true },      { "MEDIAN", 0, 4, true },
    { "90TH", 0, 2, true },    { "LONGEST", 0, 5, true },   { "SLOWDOWN", 0, 0, true },
    { "USED", 0, 0, true },    { "MAKESPAN", 0, 6, true },  { "FAIRNESS", 0, 1, true },
    { "LOST", 0, 0, true },
};

static void print_runs(const struct command *command, const Wafer__Replay *replay)
{
    size_t shown = ELEMENTS(measures) - !replay->failures; /* LOST is the last */
    owned(table_free) struct table *table =
        table_new(columns, ELEMENTS(columns) - !replay->failures, &command->out);

    for (size_t i = 0; i < replay->n_items; i++) {
        const Wafer__ReplayRun *run = replay->items[i];
        table_format(table, STYLE_NONE, "%" PRIu32, run->systems);
        table_cell(table, STYLE_NONE, backfill_of(run).text);
        table_cell(table, STYLE_NONE, order_of(run).text);
        table_cell(table, STYLE_NONE, units_grouped(run->measures->jobs).text);
        for (size_t m = 0; m < shown; m++) {
            bool best = is_best(replay, i, &measures[m]);
            if (!has_measure(run, m))
                table_cell(table, STYLE_NONE, NULL);
            else
                table_format(table, best ? STYLE_GOOD : STYLE_NONE, "%s%s", best ? "*" : "",
                             measures[m].text(measures[m].of(run)).text);
        }
    }
    table_print(table, !command_has(command, FLAG_NO_HEADER));
}

static const struct column queue_columns[] = {
    { "QUEUE", 8, 0, false },   { "JOBS", 0, 0, true },         { "WAIT", 0, 0, true },
    { "MEDIAN", 0, 0, true },   { "90TH", 0, 0, true },         { "LONGEST", 0, 0, true },
    { "SLOWDOWN", 0, 0, true }, { "SYSTEM-HOURS", 0, 0, true },
};

static void print_queues(const struct command *command, const Wafer__ReplayRun *run)
{
    owned(table_free) struct table *table =
        table_new(queue_columns, ELEMENTS(queue_columns), &command->out);

    for (size_t i = 0; i < run->n_queues; i++) {
        const Wafer__ReplayMeasures *of = run->queues[i]->measures;
        table_cell(table, STYLE_NONE, run->queues[i]->queue);
        table_cell(table, STYLE_NONE, units_grouped(of->jobs).text);
        table_cell(table, STYLE_NONE, ms_text(of->mean_wait_ms).text);
        table_cell(table, STYLE_NONE, seconds_text(of->median_wait_s).text);
        table_cell(table, STYLE_NONE, seconds_text(of->wait_90_s).text);
        table_cell(table, STYLE_NONE, seconds_text(of->longest_wait_s).text);
        table_cell(table, STYLE_NONE, milli_text(of->mean_slowdown_milli).text);
        table_cell(table, STYLE_NONE, units_grouped(of->system_s / 3600).text);
    }
    output_line(command, "%s", "");
    table_print(table, !command_has(command, FLAG_NO_HEADER));
}

static void print_omission(const struct command *command, const Wafer__ReplayOmission *omission)
{
    output_line(command, "  left out %s: %s; first line %" PRIu64 ": %s",
                units_grouped(omission->jobs).text, omission->cause, omission->line,
                omission->text);
}

static void print_failures(const struct command *command, const Wafer__Replay *replay)
{
    owned(free) char *seed =
        replay->has_seed ? text_format(", seed %" PRIu64, replay->seed) : text_copy("");
    owned(free) char *every =
        replay->checkpoint_s
            ? text_format("every %s", units_seconds((int64_t)replay->checkpoint_s).text)
            : text_copy("none");

    output_line(command, "failures %s%s, checkpoints %s", replay->failures, seed, every);
    if (replay->failure_omission)
        print_omission(command, replay->failure_omission);
    for (size_t i = 0; i < replay->n_items; i++)
        output_line(command, "  %s, %s: systems failed %s times, jobs were restarted %s times",
                    units_grouped(replay->items[i]->systems).text,
                    backfill_of(replay->items[i]).text,
                    units_grouped(replay->items[i]->failures).text,
                    units_grouped(replay->items[i]->restarts).text);
}

static void print_people(const struct command *command, const Wafer__Replay *replay)
{
    if (!command_has(command, FLAG_QUIET)) {
        output_line(command, "%s: %s jobs, %s limits, ties %s", replay->trace,
                    units_grouped(replay->jobs).text,
                    flag_value(&wafer__replay__estimates__descriptor, (int)replay->estimates).text,
                    flag_value(&wafer__replay__ties__descriptor, (int)replay->ties).text);
        for (size_t i = 0; i < replay->n_omissions; i++)
            print_omission(command, replay->omissions[i]);
        for (size_t i = 0; i < replay->n_items; i++)
            if (replay->items[i]->too_wide)
                output_line(command, "  left out %s: need more than %" PRIu32 " systems",
                            units_grouped(replay->items[i]->too_wide).text,
                            replay->items[i]->systems);
        if (replay->failures)
            print_failures(command, replay);
    }
    print_runs(command, replay);
    if (replay->n_items == 1 && replay->items[0]->n_queues)
        print_queues(command, replay->items[0]);
}

static void print_plain(const Wafer__Replay *replay)
{
    for (size_t i = 0; i < replay->n_items; i++) {
        const Wafer__ReplayRun *run = replay->items[i];
        struct record record = { 0 };
        output_number(&record, true, run->systems);
        output_text(&record, backfill_of(run).text);
        output_text(&record, order_of(run).text);
        output_number(&record, true, run->measures->jobs);
        for (size_t m = 0; m < ELEMENTS(measures); m++)
            output_number(&record, has_measure(run, m), measures[m].of(run));
        output_end(&record);
    }
}

int run_replay(const struct command *command)
{
    owned(buffer_done) struct buffer packed = BUFFER_EMPTY;
    char *words[ELEMENTS(passed_on) + 3];

    replay_arguments(command, words);
    int exit = helper_run(command, HELPER, (const char *const *)words, &packed);
    for (size_t i = 0; words[i]; i++)
        free(words[i]);
    if (exit)
        return exit;
    Wafer__Replay *replay = wafer__replay__unpack(NULL, packed.length, buffer_data(&packed));
    if (!replay)
        return message_fail(command, EXIT_INTERNAL,
                            "what " HELPER " said cannot be read: it is of another version");
    if (command->format == FORMAT_PLAIN)
        print_plain(replay);
    else if (!output_document(command, &replay->base))
        print_people(command, replay);
    wafer__replay__free_unpacked(replay, NULL);
    return 0;
}
