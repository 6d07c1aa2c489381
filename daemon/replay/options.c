#include "replay/options.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/duration.h"
#include "base/memory.h"
#include "base/number.h"

static const char *const backfills[] = {
    [SCHEDULE_BACKFILL_NONE] = "none",
    [SCHEDULE_BACKFILL_EASY] = "easy",
    [SCHEDULE_BACKFILL_EASY_SJBF] = "easy-sjbf",
    [SCHEDULE_BACKFILL_CONSERVATIVE] = "conservative",
};
static const char *const orders[] = {
    [SCHEDULE_ORDER_FCFS] = "fcfs",
    [SCHEDULE_ORDER_SJF] = "sjf",
    [SCHEDULE_ORDER_WFP] = "wfp",
    [SCHEDULE_ORDER_POLICY] = "policy",
};
static const char *const estimates[] = { "requested", "actual" };
static const char *const ties[] = {
    [TIES_BATCH] = "batch",
    [TIES_SUBMIT_FIRST] = "submit-first",
    [TIES_END_FIRST] = "end-first",
    [TIES_END_FIRST_HELD] = "end-first-held",
};

const char *backfill_name(enum schedule_backfill backfill)
{
    return backfills[backfill];
}

const char *order_name(enum schedule_order order)
{
    return orders[order];
}

/* Its place among the names, or -EINVAL. */
static int choose(const char *option, const char *text, const char *const *names, size_t count,
                  struct diag *diag)
{
    owned(buffer_done) struct buffer known = BUFFER_EMPTY;

    for (size_t i = 0; i < count; i++) {
        if (strcmp(text, names[i]) == 0)
            return (int)i;
        buffer_format(&known, "%s%s", i ? ", " : "", names[i]);
    }
    owned(free) char *words = buffer_text(&known);
    return diag_fail(diag, -EINVAL, "--%s: \"%s\" is none of %s", option, text, words);
}

static int parse_systems(struct options *ret, const char *text, struct diag *diag)
{
    owned(free) char *copy = text_copy(text);
    char *rest = copy;

    ret->systems_count = 0;
    for (char *value; (value = strsep(&rest, ","));) {
        uint64_t systems;
        if (number_parse_whole(value, UINT32_MAX, &systems) < 0 || !systems)
            return diag_fail(diag, -EINVAL, "--systems: \"%s\" is no number of systems", value);
        if (ret->systems_count == OPTIONS_LIST_MAX)
            return diag_fail(diag, -EINVAL, "--systems: more than %d", OPTIONS_LIST_MAX);
        ret->systems[ret->systems_count++] = (uint32_t)systems;
    }
    return 0;
}

static int parse_choices(const char *option, const char *text, const char *const *names,
                         size_t name_count, void (*add)(struct options *, int), struct options *ret,
                         struct diag *diag)
{
    owned(free) char *copy = text_copy(text);
    char *rest = copy;
    size_t count = 0;

    for (char *value; (value = strsep(&rest, ","));) {
        int choice = choose(option, value, names, name_count, diag);
        if (choice < 0)
            return choice;
        if (count++ == OPTIONS_LIST_MAX)
            return diag_fail(diag, -EINVAL, "--%s: more than %d", option, OPTIONS_LIST_MAX);
        add(ret, choice);
    }
    return 0;
}

static void add_backfill(struct options *options, int choice)
{
    options->backfill[options->backfill_count++] = (enum schedule_backfill)choice;
}

static void add_order(struct options *options, int choice)
{
    options->order[options->order_count++] = (enum schedule_order)choice;
}

static int parse_failures(struct options *ret, const char *text, struct diag *diag)
{
    int r = failure_rate_parse(text, &ret->rate, diag);

    if (r < 0 && r != -ENOENT)
        return diag_prefix(diag, r, "--failures");
    ret->failures = text;
    ret->has_rate = r == 0;
    return 0;
}

static int parse_seed(struct options *ret, const char *text, struct diag *diag)
{
    if (number_parse_whole(text, UINT64_MAX, &ret->seed) < 0)
        return diag_fail(diag, -EINVAL, "--seed: \"%s\" is no whole number", text);
    return 0;
}

static int parse_checkpoints(struct options *ret, const char *text, struct diag *diag)
{
    int64_t us = 0;
    int r = strcmp(text, "none") == 0 ? 0 : duration_parse(text, &us, diag);

    if (r < 0)
        return diag_prefix(diag, -EINVAL, "--checkpoints");
    if (us % SECOND_US)
        return diag_fail(diag, -EINVAL, "--checkpoints: \"%s\" is not in whole seconds", text);
    ret->checkpoint_s = us / SECOND_US;
    return 0;
}

enum {
    SYSTEMS = 1,
    BACKFILL,
    ORDER,
    ESTIMATES,
    TIES,
    SCHEDULE,
    REPORT,
    STRICT,
    FAILURES,
    SEED,
    CHECKPOINTS,
    POLICIES,
};

static const struct option long_options[] = {
    { "systems", required_argument, NULL, SYSTEMS },
    { "backfill", required_argument, NULL, BACKFILL },
    { "order", required_argument, NULL, ORDER },
    { "estimates", required_argument, NULL, ESTIMATES },
    { "ties", required_argument, NULL, TIES },
    { "schedule", required_argument, NULL, SCHEDULE },
    { "report", required_argument, NULL, REPORT },
    { "strict", no_argument, NULL, STRICT },
    { "failures", required_argument, NULL, FAILURES },
    { "seed", required_argument, NULL, SEED },
    { "checkpoints", required_argument, NULL, CHECKPOINTS },
    { "policies", required_argument, NULL, POLICIES },
    { NULL, 0, NULL, 0 },
};

static int parse_option(int option, struct options *ret, struct diag *diag)
{
    int choice;

    switch (option) {
    case SYSTEMS: return parse_systems(ret, optarg, diag);
    case BACKFILL:
        ret->backfill_count = 0;
        return parse_choices("backfill", optarg, backfills, ELEMENTS(backfills), add_backfill, ret,
                             diag);
    case ORDER:
        ret->order_count = 0;
        return parse_choices("order", optarg, orders, ELEMENTS(orders), add_order, ret, diag);
    case ESTIMATES:
        choice = choose("estimates", optarg, estimates, ELEMENTS(estimates), diag);
        ret->actual_estimates = choice == 1;
        return choice < 0 ? choice : 0;
    case TIES:
        choice = choose("ties", optarg, ties, ELEMENTS(ties), diag);
        ret->ties = (enum replay_ties)choice;
        return choice < 0 ? choice : 0;
    case SCHEDULE: ret->schedule = optarg; return 0;
    case REPORT: ret->report = optarg; return 0;
    case STRICT: ret->strict = true; return 0;
    case FAILURES: return parse_failures(ret, optarg, diag);
    case SEED: return parse_seed(ret, optarg, diag);
    case POLICIES: ret->policies = optarg; return 0;
    case CHECKPOINTS: return parse_checkpoints(ret, optarg, diag);
    default: return diag_fail(diag, -EINVAL, "unknown option, or one without its value");
    }
}

int options_parse(int argc, char **argv, struct options *ret, struct diag *diag)
{
    *ret = (struct options){ .ties = TIES_BATCH, .seed = 1, .checkpoint_s = 3600 };
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
        int r = parse_option(option, ret, diag);
        if (r < 0)
            return r;
    }
    if (optind + 1 != argc)
        return diag_fail(diag, -EINVAL, "one trace is needed, or - for standard input");
    ret->trace = argv[optind];
    size_t runs = (ret->systems_count ? ret->systems_count : 1) *
                  (ret->backfill_count ? ret->backfill_count : 1) *
                  (ret->order_count ? ret->order_count : 1);
    if ((ret->schedule || ret->report) && runs > 1)
        return diag_fail(diag, -EINVAL, "--%s: of one run, not of %zu",
                         ret->schedule ? "schedule" : "report", runs);
    return 0;
}
