#include "cli/top_frame.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "cli/job_text.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/units.h"
#include "model/job.h"

#define SYSTEM_CELLS   32 /* of the bar of a pool */
#define PROGRESS_CELLS 10
#define REASONS_MAX    64

static const char *const sort_names[TOP_SORTS] = {
    [TOP_BY_STATE] = "state", [TOP_BY_NAME] = "name", [TOP_BY_PROGRESS] = "progress",
    [TOP_BY_TIME] = "time",   [TOP_BY_ID] = "id",
};

/* ---- which jobs, in which order -------------------------------------------------------------- */

/* What runs comes first, then what waits. */
static int rank_of(const Wafer__Job *job)
{
    if (job_state_has_systems(job->state))
        return 0;
    return job->state == WAFER__JOB__STATE__PENDING ? 1 : 2;
}

static int64_t measure(const Wafer__Job *job, enum top_sort sort)
{
    switch (sort) {
    case TOP_BY_STATE: return rank_of(job);
    case TOP_BY_PROGRESS: return -(int64_t)job_percent(job);
    case TOP_BY_TIME: return -(job->has_elapsed_s ? job->elapsed_s : 0);
    default: return 0;
    }
}

static int compare(const void *a, const void *b, void *userdata)
{
    const struct top_view *view = userdata;
    const Wafer__Job *one = *(Wafer__Job *const *)a, *other = *(Wafer__Job *const *)b;
    int64_t x = measure(one, view->sort), y = measure(other, view->sort);
    int order = x < y ? -1 : x > y;

    if (view->sort == TOP_BY_NAME)
        order = strcmp(one->name ? one->name : "", other->name ? other->name : "");
    if (!order)
        order = one->id < other->id ? -1 : one->id > other->id;
    return view->descends ? -order : order;
}

static bool is_of_queue(const Wafer__Job *job, const char *queue)
{
    return !queue || (job->queue && strcmp(job->queue, queue) == 0);
}

void top_frame_choose(const struct top_view *view, Wafer__JobList *jobs, size_t *ret)
{
    size_t kept = 0;

    for (size_t i = 0; i < jobs->n_items; i++) {
        Wafer__Job *job = jobs->items[i];
        if (!is_of_queue(job, view->queue))
            continue;
        jobs->items[i] = jobs->items[kept];
        jobs->items[kept++] = job;
    }
    if (kept > 1)
        qsort_r(jobs->items, kept, sizeof(*jobs->items), compare, (void *)view);
    *ret = kept;
}

/* ---- systems -------------------------------------------------------------------------------- */

enum use { USE_BUSY, USE_FREE, USE_DRAINED, USE_DOWN, USES };

static enum use use_of(const Wafer__System *system)
{
    if (system->has_state && system->state != WAFER__SYSTEM__STATE__UP)
        return USE_DOWN;
    if (system->has_job)
        return USE_BUSY;
    return system->drained ? USE_DRAINED : USE_FREE;
}

static void add_cells(struct buffer *line, const size_t *counts, size_t total, bool is_utf8)
{
    static const char *const cells[2][USES] = {
        { "#", "-", "d", "!" },
        { "█", "░", "▒", "×" },
    };
    size_t width = total < SYSTEM_CELLS ? total : SYSTEM_CELLS, drawn = 0, seen = 0;

    buffer_append_text(line, is_utf8 ? "" : "[");
    for (enum use use = 0; use < USES; use++)
        for (seen += counts[use]; drawn < seen * width / total; drawn++)
            buffer_append_text(line, cells[is_utf8][use]);
    buffer_append_text(line, is_utf8 ? "" : "]");
}

static const char *pool_of(const Wafer__System *system)
{
    return system->pool ? system->pool : "-";
}

static size_t count_systems(const Wafer__SystemList *systems, const char *pool,
                            size_t counts[static USES])
{
    size_t total = 0;

    for (size_t i = 0; i < systems->n_items; i++) {
        if (strcmp(pool_of(systems->items[i]), pool) != 0)
            continue;
        counts[use_of(systems->items[i])]++;
        total++;
    }
    return total;
}

/* `widest`: cells of the longest bar, so that the figures stand below each other. */
static void print_pool(const struct screen *screen, const char *pool, size_t widest,
                       const Wafer__SystemList *systems)
{
    static const char *const names[USES] = { "busy", "free", "drained", "down" };
    owned(buffer_done) struct buffer line = BUFFER_EMPTY;
    size_t counts[USES] = { 0 };
    size_t total = count_systems(systems, pool, counts);
    size_t width = total < SYSTEM_CELLS ? total : SYSTEM_CELLS;

    owned(free) char *shown = text_display(pool, screen->is_utf8);
    buffer_format(&line, "  %-12s ", shown);
    add_cells(&line, counts, total, screen->is_utf8);
    buffer_format(&line, "%*s  %zu of %zu busy", (int)(widest - width), "", counts[USE_BUSY],
                  total);
    for (enum use use = USE_FREE; use < USES; use++)
        if (counts[use])
            buffer_format(&line, ", %zu %s", counts[use], names[use]);
    owned(free) char *text = buffer_text(&line);
    fprintf(screen->stream, "%s\n", text);
}

/* The first system of its pool stands for the pool. */
static bool is_first_of_pool(const Wafer__SystemList *systems, size_t which)
{
    for (size_t i = 0; i < which; i++)
        if (strcmp(pool_of(systems->items[i]), pool_of(systems->items[which])) == 0)
            return false;
    return true;
}

static void print_systems(const struct screen *screen, const Wafer__SystemList *systems)
{
    size_t widest = 0;

    fprintf(screen->stream, "%ssystems%s\n", screen_begin(screen, STYLE_BOLD),
            screen_end(screen, STYLE_BOLD));
    for (size_t i = 0; i < systems->n_items; i++) {
        size_t counts[USES] = { 0 };
        size_t total = is_first_of_pool(systems, i)
                           ? count_systems(systems, pool_of(systems->items[i]), counts)
                           : 0;
        if (total > widest)
            widest = total < SYSTEM_CELLS ? total : SYSTEM_CELLS;
    }
    for (size_t i = 0; i < systems->n_items; i++)
        if (is_first_of_pool(systems, i))
            print_pool(screen, pool_of(systems->items[i]), widest, systems);
}

/* ---- queues --------------------------------------------------------------------------------- */

/* "5 pending (3 Resources, 2 Priority)": why what waits does. */
static void add_reasons(struct buffer *line, const Wafer__JobList *jobs, const char *queue)
{
    size_t counts[REASONS_MAX] = { 0 };
    bool is_first = true;

    for (size_t i = 0; i < jobs->n_items; i++) {
        const Wafer__Job *job = jobs->items[i];
        if (job->state == WAFER__JOB__STATE__PENDING && job->reason && is_of_queue(job, queue) &&
            job->reason->code < ELEMENTS(counts))
            counts[job->reason->code]++;
    }
    for (size_t i = 0; i < ELEMENTS(counts); i++) {
        if (!counts[i])
            continue;
        buffer_format(line, "%s%zu %s", is_first ? " (" : ", ", counts[i],
                      job_reason_name((Wafer__Job__Reason)i));
        is_first = false;
    }
    buffer_append_text(line, is_first ? "" : ")");
}

static void print_queue(const struct screen *screen, const Wafer__JobList *jobs, const char *queue,
                        bool is_chosen)
{
    owned(buffer_done) struct buffer line = BUFFER_EMPTY;
    size_t counts[3] = { 0 };

    for (size_t i = 0; i < jobs->n_items; i++)
        if (is_of_queue(jobs->items[i], queue))
            counts[rank_of(jobs->items[i])]++;
    owned(free) char *shown = text_display(queue, screen->is_utf8);
    buffer_format(&line, "%s %-12s %zu running, %zu pending", is_chosen ? ">" : " ", shown,
                  counts[0], counts[1]);
    add_reasons(&line, jobs, queue);
    if (counts[2])
        buffer_format(&line, ", %zu held", counts[2]);
    owned(free) char *text = buffer_text(&line);
    unsigned width = screen_width(screen);
    if (width)
        text_cut(text, width);
    fprintf(screen->stream, "%s\n", text);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char **top_frame_queues(const Wafer__JobList *jobs, size_t *ret_count)
{
    const char **queues = NULL;
    size_t count = 0, capacity = 0;

    for (size_t i = 0; i < jobs->n_items; i++) {
        const char *queue = jobs->items[i]->queue;
        bool is_new = queue != NULL;
        for (size_t j = 0; j < count && is_new; j++)
            is_new = strcmp(queues[j], queue) != 0;
        if (!is_new)
            continue;
        ARRAY_RESERVE(queues, count, capacity);
        queues[count++] = queue;
    }
    if (count)
        qsort(queues, count, sizeof(*queues), by_name);
    *ret_count = count;
    return queues;
}

static void print_queues(const struct screen *screen, const struct top_view *view,
                         const Wafer__JobList *jobs)
{
    size_t count;
    owned(free) const char **queues = top_frame_queues(jobs, &count);

    fprintf(screen->stream, "%squeues%s\n", screen_begin(screen, STYLE_BOLD),
            screen_end(screen, STYLE_BOLD));
    for (size_t i = 0; i < count; i++)
        print_queue(screen, jobs, queues[i], view->queue && strcmp(view->queue, queues[i]) == 0);
    if (!count)
        fprintf(screen->stream, "  no jobs\n");
}

/* ---- jobs ----------------------------------------------------------------------------------- */

static const struct column columns[] = {
    { " ", 0, 0, false },     { "JOBID", 0, 0, false },  { "NAME", 8, 0, false },
    { "USER", 4, 6, false },  { "QUEUE", 5, 5, false },  { "SYS", 0, 0, true },
    { "STATE", 0, 0, false }, { "PHASE", 7, 3, false },  { "PROGRESS", 0, 0, false },
    { "LOSS", 0, 4, true },   { "ENDS IN", 0, 2, true }, { "REASON", 9, 1, false },
};

static void add_progress(struct table *table, const struct screen *screen, const Wafer__Job *job)
{
    owned(buffer_done) struct buffer cell = BUFFER_EMPTY;
    unsigned percent = job_percent(job), full = percent * PROGRESS_CELLS / 100;

    bool has_begun = job_state_has_systems(job->state) || (job->progress && job->progress->step);

    if (!has_begun || !job->progress || !job->progress->has_step || !job->progress->has_max_steps) {
        table_cell(table, STYLE_NONE, NULL);
        return;
    }
    for (unsigned i = 0; i < PROGRESS_CELLS; i++)
        buffer_append_text(&cell,
                           screen->is_utf8 ? (i < full ? "█" : "░") : (i < full ? "#" : "-"));
    buffer_format(&cell, " %3u%%", percent);
    owned(free) char *text = buffer_text(&cell);
    table_cell(table, STYLE_NONE, text);
}

static void add_job(struct table *table, const struct screen *screen, const Wafer__Job *job,
                    const struct top_view *view, size_t number)
{
    const Wafer__Job__Progress *progress = job->progress;
    owned(free) char *why = job_why_text(job);

    if (view->selects)
        table_cell(table, STYLE_NONE, number == view->selected ? ">" : " ");
    table_cell(table, STYLE_NONE, job_id_text(job).text);
    table_cell(table, STYLE_NONE, job->name);
    table_cell(table, STYLE_NONE, job->user);
    table_cell(table, STYLE_NONE, job->queue);
    if (job->systems && job->systems->n_allocated)
        table_format(table, STYLE_NONE, "%zu", job->systems->n_allocated);
    else
        table_format(table, STYLE_NONE, "%" PRIu32, job->systems ? job->systems->requested : 0);
    table_cell(table, job_style(job), job->has_state ? job_state_name(job->state) : NULL);
    table_cell(table, STYLE_NONE, job->has_phase ? job_phase_name(job->phase) : NULL);
    add_progress(table, screen, job);
    table_cell(table, STYLE_NONE,
               progress && progress->loss ? units_decimal(progress->loss->micro, 4).text : NULL);
    table_cell(table, STYLE_NONE,
               progress && progress->has_eta_s ? units_seconds(progress->eta_s).text : NULL);
    table_cell(table, STYLE_NONE, why);
}

static void print_jobs(const struct command *command, const struct screen *screen,
                       const struct top_view *view, const Wafer__JobList *jobs, size_t first,
                       size_t last)
{
    size_t skipped = !view->selects; /* without a selection there is no marker */
    owned(table_free) struct table *table =
        table_new(columns + skipped, ELEMENTS(columns) - skipped, screen);

    for (size_t i = first; i < last; i++)
        add_job(table, screen, jobs->items[i], view, i);
    if (last > first)
        table_print(table, !command_has(command, FLAG_NO_HEADER));
}

static void print_summary(const struct screen *screen, const struct top_view *view,
                          const Wafer__JobList *jobs, size_t count, size_t first, size_t last)
{
    const char *separator = screen->is_utf8 ? " · " : ", ";
    owned(buffer_done) struct buffer line = BUFFER_EMPTY;
    uint64_t total = jobs->has_total ? jobs->total : jobs->n_items;

    if (last - first < count)
        buffer_format(&line, "%zu to %zu of ", first + 1, last);
    buffer_format(&line, "%zu shown", count);
    if (count < total)
        buffer_format(&line, " of %" PRIu64, total);
    buffer_format(&line, "%sby %s%s", separator, sort_names[view->sort],
                  view->descends ? ", downwards" : "");
    if (view->selects)
        buffer_format(&line, "%sq quit%ss sort%sr reverse%s%s queue%senter show", separator,
                      separator, separator, separator, screen->is_utf8 ? "←→" : "h l", separator);
    owned(free) char *text = buffer_text(&line);
    unsigned width = screen_width(screen);
    if (width)
        text_cut(text, width);
    fprintf(screen->stream, "%s%s%s\n", screen_begin(screen, STYLE_FAINT), text,
            screen_end(screen, STYLE_FAINT));
}

static size_t count_lines(const char *text)
{
    size_t count = 0;

    for (; *text; text++)
        count += *text == '\n';
    return count;
}

/* The jobs that fit below what stands above them, so that the selected one is seen. */
static void choose_rows(const struct top_view *view, size_t above, size_t count, size_t *ret_first,
                        size_t *ret_last)
{
    size_t taken = above + 2; /* a header and the summary */
    size_t fits = !view->rows ? count : view->rows > taken ? view->rows - taken : 1;

    *ret_first = view->selects && view->selected >= fits ? view->selected - fits + 1 : 0;
    *ret_last = *ret_first + fits < count ? *ret_first + fits : count;
}

char *top_frame_text(const struct command *command, const struct top_view *view,
                     const Wafer__JobList *jobs, size_t count, const Wafer__SystemList *systems)
{
    char *text = NULL;
    size_t length = 0, first, last;
    struct screen screen = command->out;

    screen.fixed_width = screen_width(&command->out);
    screen.is_wide = screen.fixed_width == 0;
    screen.stream = open_memstream(&text, &length);
    print_systems(&screen, systems);
    print_queues(&screen, view, jobs);
    fflush(screen.stream);
    choose_rows(view, count_lines(text), count, &first, &last);
    print_jobs(command, &screen, view, jobs, first, last);
    print_summary(&screen, view, jobs, count, first, last);
    fclose(screen.stream);
    return text;
}
