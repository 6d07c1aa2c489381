#include "replay/failures.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/random.h"
#include "base/timestamp.h"
#include "replay/trace_inside.h"

#define YEAR_S           (INT64_C(365) * 86400)
#define REPAIR_DEFAULT_S (INT64_C(4) * 3600)
#define RECORD_STEP_S    60 /* a record tells minutes */

/* ---- lists ---- */

static int by_system(const void *a, const void *b)
{
    const struct failure *one = a, *other = b;

    if (one->system != other->system)
        return (one->system > other->system) - (one->system < other->system);
    return (one->time_s > other->time_s) - (one->time_s < other->time_s);
}

static int by_time(const void *a, const void *b)
{
    const struct failure *one = a, *other = b;

    if (one->time_s != other->time_s)
        return (one->time_s > other->time_s) - (one->time_s < other->time_s);
    return (one->system > other->system) - (one->system < other->system);
}

/* One failure for all that overlap on a system; then all in the order of time. */
static void settle(struct failures *failures)
{
    size_t kept = 0;

    if (!failures->count)
        return;
    qsort(failures->items, failures->count, sizeof(*failures->items), by_system);
    for (size_t i = 0; i < failures->count; i++) {
        struct failure next = failures->items[i], *last = &failures->items[kept ? kept - 1 : 0];
        if (kept && last->system == next.system && next.time_s <= last->time_s + last->down_s) {
            if (next.time_s + next.down_s > last->time_s + last->down_s)
                last->down_s = next.time_s + next.down_s - last->time_s;
        } else {
            failures->items[kept++] = next;
        }
    }
    failures->count = kept;
    qsort(failures->items, failures->count, sizeof(*failures->items), by_time);
}

static void add(struct failures *failures, struct failure failure)
{
    ARRAY_RESERVE(failures->items, failures->count, failures->capacity);
    failures->items[failures->count++] = failure;
}

void failures_done(struct failures *failures)
{
    free(failures->items);
    *failures = (struct failures){ .items = NULL };
}

static int check_systems(uint32_t systems, struct diag *diag)
{
    return systems <= FAILURES_SYSTEMS_MAX
               ? 0
               : diag_fail(diag, -E2BIG, "failures of %u systems: of at most %u", systems,
                           FAILURES_SYSTEMS_MAX);
}

/* ---- rates ---- */

static int parse_span(const char *what, const char *text, int64_t *ret_s, struct diag *diag)
{
    int64_t us;
    int r = duration_parse(text, &us, diag);

    if (r < 0)
        return diag_prefix(diag, -EINVAL, "%s", what);
    if (us < SECOND_US)
        return diag_fail(diag, -EINVAL, "%s: \"%s\" is less than a second", what, text);
    *ret_s = us / SECOND_US;
    return 0;
}

static int parse_terms(char *rest, struct failure_rate *ret, struct diag *diag)
{
    int r = 0;

    for (char *term; r == 0 && (term = strsep(&rest, ","));) {
        if (strncmp(term, "mtbf=", 5) == 0)
            r = parse_span("mtbf", term + 5, &ret->mtbf_s, diag);
        else if (strncmp(term, "repair=", 7) == 0)
            r = parse_span("repair", term + 7, &ret->repair_s, diag);
        else
            r = diag_fail(diag, -EINVAL, "\"%s\" is neither mtbf=30d nor repair=4h", term);
    }
    return r;
}

int failure_rate_parse(const char *text, struct failure_rate *ret, struct diag *diag)
{
    struct failure_rate rate = { .repair_s = REPAIR_DEFAULT_S };
    struct number number;
    const char *end = number_scan(text, 0, &number);

    if (end && !*end) {
        double a_year = (double)number.digits * pow(10, number.exponent);
        if (!(a_year >= 0.001 && a_year <= 1e6))
            return diag_fail(diag, -EINVAL,
                             "\"%s\" failures a year are not between 0.001 and 1000000", text);
        rate.mtbf_s = (int64_t)((double)YEAR_S / a_year);
    } else if (strncmp(text, "mtbf=", 5) == 0) {
        owned(free) char *copy = text_copy(text);
        int r = parse_terms(copy, &rate, diag);
        if (r < 0)
            return r;
    } else {
        return diag_fail(diag, -ENOENT, "\"%s\" is no rate like mtbf=30d,repair=4h", text);
    }
    *ret = rate;
    return 0;
}

/* Exponential, with that mean; at least a second. */
static int64_t draw_interval_s(struct random *random, int64_t mean_s)
{
    double interval_s = ceil(-log(1 - random_unit(random)) * (double)mean_s);

    return interval_s > 1 ? (int64_t)interval_s : 1;
}

int failures_draw(const struct failure_rate *rate, uint64_t seed, uint32_t systems, int64_t begin_s,
                  int64_t end_s, struct failures *ret, struct diag *diag)
{
    owned(failures_done) struct failures drawn = { .items = NULL };
    int r = check_systems(systems, diag);

    if (r < 0)
        return r;
    for (uint32_t system = 0; system < systems; system++) {
        struct random random;
        random_init(&random, random_mix(seed ^ random_mix(system)));
        for (int64_t at_s = begin_s;; at_s += rate->repair_s) {
            at_s += draw_interval_s(&random, rate->mtbf_s);
            if (at_s >= end_s)
                break;
            if (drawn.count == FAILURES_MAX)
                return diag_fail(diag, -E2BIG, "more than %d failures: a longer mtbf is needed",
                                 FAILURES_MAX);
            add(&drawn, (struct failure){ at_s, rate->repair_s, system });
        }
    }
    settle(&drawn);
    *ret = drawn;
    drawn.items = NULL;
    return 0;
}

/* ---- records ---- */

enum column { SYSTEM, NODE, STARTED, FIXED, USED };
enum { COLUMNS_MAX = 64 };

static const char *const titles[USED] = {
    [SYSTEM] = "System",
    [NODE] = "nodenumz",
    [STARTED] = "Prob Started",
    [FIXED] = "Prob Fixed",
};

/* Columns end at commas that are not between quotes; what is quoted keeps its quotes. */
static size_t split(char *text, char *columns[static COLUMNS_MAX])
{
    size_t count = 0;
    bool is_quoted = false;

    columns[count++] = text;
    for (; *text; text++) {
        if (*text == '"')
            is_quoted = !is_quoted;
        if (*text != ',' || is_quoted)
            continue;
        *text = '\0';
        if (count == COLUMNS_MAX)
            break;
        columns[count++] = text + 1;
    }
    return count;
}

/* Where in a line each column is. */
struct layout {
    size_t at[USED];
};

static bool find_columns(char *header, struct layout *ret)
{
    char *columns[COLUMNS_MAX];
    size_t count = split(header, columns);

    for (int column = 0; column < USED; column++) {
        size_t at = 0;
        while (at < count && strcmp(columns[at], titles[column]) != 0)
            at++;
        if (at == count)
            return false;
        ret->at[column] = at;
    }
    return true;
}

/* "6/21/2005 10:54": month, day, year. The zone does not count, only what lies between. */
static bool parse_moment(const char *text, int64_t *ret_s)
{
    unsigned month, day, year, hour, minute;
    int length = 0;
    int64_t us;

    if (sscanf(text, "%2u/%2u/%4u %2u:%2u%n", &month, &day, &year, &hour, &minute, &length) != 5 ||
        text[length])
        return false;
    owned(free) char *standard =
        text_format("%04u-%02u-%02uT%02u:%02u:00Z", year, month, day, hour, minute);
    if (timestamp_parse(standard, &us, NULL) < 0)
        return false;
    *ret_s = us / SECOND_US;
    return true;
}

struct record {
    struct failures failures;
    struct layout layout;
    struct map nodes; /* of those that were named: the number from 1 */
};

static uint32_t system_of_node(struct record *record, uint64_t system, uint64_t node)
{
    uint64_t key = system << 32 | node;
    uintptr_t number = (uintptr_t)map_get(&record->nodes, key);

    if (!number) {
        number = map_count(&record->nodes) + 1;
        map_put(&record->nodes, key, (void *)number); /* a number, not an address */
    }
    return (uint32_t)number - 1;
}

static int read_failure(struct record *record, const struct line *line, struct diag *diag)
{
    char *columns[COLUMNS_MAX];
    owned(free) char *text = text_copy_length(line->text, line->length);
    size_t count = split(text, columns);
    const char *used[USED];
    uint64_t system, node;
    int64_t started_s, fixed_s;
    bool is_good = !line->is_cut && strlen(line->text) == line->length;

    for (int column = 0; column < USED; column++) {
        is_good &= record->layout.at[column] < count;
        used[column] = is_good ? columns[record->layout.at[column]] : "";
    }
    if (!is_good || number_parse_whole(used[SYSTEM], INT32_MAX, &system) < 0 ||
        number_parse_whole(used[NODE], INT32_MAX, &node) < 0 ||
        !parse_moment(used[STARTED], &started_s) || !parse_moment(used[FIXED], &fixed_s) ||
        fixed_s < started_s) {
        omission_add(&record->failures.malformed, line);
        return 0;
    }
    if (record->failures.count == FAILURES_MAX)
        return diag_fail(diag, -E2BIG, "line %llu: more than %d failures",
                         (unsigned long long)line->number, FAILURES_MAX);
    int64_t down_s = fixed_s - started_s;
    add(&record->failures, (struct failure){ started_s, down_s ? down_s : RECORD_STEP_S,
                                             system_of_node(record, system, node) });
    return 0;
}

static int read_lines(struct lines *lines, const char *name, struct record *record,
                      struct diag *diag)
{
    struct line line;
    int r = lines_next(lines, &line, diag);

    if (r < 0)
        return r;
    if (r == 0 || line.is_cut || !find_columns(line.text, &record->layout))
        return diag_fail(diag, -EBADMSG,
                         "%s: its first line names no columns System, nodenumz, Prob Started and "
                         "Prob Fixed",
                         name);
    while ((r = lines_next(lines, &line, diag)) > 0)
        if (line.length && (r = read_failure(record, &line, diag)) < 0)
            return diag_prefix(diag, r, "%s", name);
    return r;
}

int failures_read(int fd, const char *name, struct failures *ret, struct diag *diag)
{
    owned(lines_close) struct lines *lines = NULL;
    struct record record = { .nodes = MAP_EMPTY };
    int r = lines_open(fd, name, &lines, diag);

    if (r == 0)
        r = read_lines(lines, name, &record, diag);
    record.failures.systems = (uint32_t)map_count(&record.nodes);
    map_done(&record.nodes);
    if (r < 0) {
        failures_done(&record.failures);
        return r;
    }
    settle(&record.failures);
    *ret = record.failures;
    return 0;
}

int failures_take(const struct failures *record, uint32_t systems, int64_t begin_s,
                  struct failures *ret, struct diag *diag)
{
    int r = check_systems(systems, diag);
    int64_t shift_s = 0;

    if (r < 0)
        return r;
    *ret = (struct failures){ .systems = record->systems };
    for (size_t i = 0; i < record->count; i++) {
        struct failure failure = record->items[i];
        if (failure.system >= systems)
            continue;
        if (!ret->count)
            shift_s = begin_s - failure.time_s;
        failure.time_s += shift_s;
        add(ret, failure);
    }
    return 0;
}
