#include "replay/picture.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "replay/axis.h"
#include "replay/rows.h"
#include "replay/series.h"
#include "replay/svg.h"

/* Above either, blocks are too many or too thin to read. */
enum { BLOCK_JOBS = 100, BLOCK_SYSTEMS = 128 };

/* Columns are a pixel wide where each step is to be seen, and four where many jobs share each: less
 * is a thicket of lines. */
enum { FEW_COLUMNS = SERIES_COLUMNS, MANY_COLUMNS = 250 };

enum {
    WIDTH = 1128,
    LEFT = 84, /* of the panels */
    PLOT = 1000,
    HEAD = 136,  /* the title and the measures */
    ABOVE = 40,  /* each panel: its name and legend */
    FOOT = 56,   /* the axis of time */
    MARKS = 5,   /* on an axis of counts */
    MOMENTS = 9, /* on that of time */
};

static const char style[] =
    "<style>\n"
    "text{font-family:system-ui,\"Segoe UI\",\"DejaVu Sans\",sans-serif;font-size:13px;"
    "fill:#1c2128;font-variant-numeric:tabular-nums}\n"
    ".trace{font-size:20px;font-weight:600}.value{font-size:17px;font-weight:600}\n"
    ".panel{font-size:14px;font-weight:600}.end{text-anchor:end}.middle{text-anchor:middle}\n"
    ".soft{fill:#57606a}.small{font-size:12px}.on{fill:#fff;font-size:11px;pointer-events:none}\n"
    ".ground{fill:#fff}.grid{stroke:#e4e7eb;stroke-width:1}.base{stroke:#8c959f;stroke-width:1}\n"
    ".all{stroke:#57606a;stroke-width:1;stroke-dasharray:5 4}.stem{stroke-width:1.5}\n"
    ".use{fill:#2563b0}.use-most{fill:#bcd4f0}.queue{fill:#a8530a}.queue-most{fill:#f3d6b0}\n"
    ".wait{fill:#0f766e}.wait-most{fill:#bde4de}\n"
    ".soon{fill:#2563b0;stroke:#2563b0}.late{fill:#a8530a;stroke:#a8530a}"
    ".later{fill:#b3261e;stroke:#b3261e}\n"
    ".block rect{stroke:#fff;stroke-width:.7}.key{font-size:15px;stroke:none}\n"
    "@media (prefers-color-scheme:dark){text{fill:#e6e9ee}.soft{fill:#9aa4b2}.on{fill:#10141a}\n"
    ".ground{fill:#12161c}.grid{stroke:#272e38}.base{stroke:#6b7685}.all{stroke:#9aa4b2}\n"
    ".use{fill:#6aa8f5}.use-most{fill:#25466f}.queue{fill:#efa84d}.queue-most{fill:#5e421c}\n"
    ".wait{fill:#4ecbbd}.wait-most{fill:#1b4c49}\n"
    ".soon{fill:#6aa8f5;stroke:#6aa8f5}.late{fill:#efa84d;stroke:#efa84d}"
    ".later{fill:#f58a80;stroke:#f58a80}\n"
    ".block rect{stroke:#12161c}}\n"
    "</style>\n";

/* What is being drawn. */
struct canvas {
    const struct picture *picture;
    struct buffer *svg;
    const struct picture_job **jobs; /* those that ran, by start */
    size_t job_count;
    struct span span;
    int64_t step_s;     /* of the marks of time */
    double top, height; /* of the present panel */
};

static double place_of(const struct canvas *canvas, int64_t time_s)
{
    return LEFT +
           (double)PLOT * (double)(time_s - canvas->span.first_s) / (double)canvas->span.length_s;
}

static double column_place(const struct canvas *canvas, unsigned column)
{
    return LEFT + (double)PLOT * column / canvas->span.columns;
}

static bool has_blocks(const struct canvas *canvas)
{
    return canvas->job_count <= BLOCK_JOBS && canvas->picture->systems <= BLOCK_SYSTEMS;
}

/* -- the frame of a panel -- */

struct legend {
    const char *class, *text;
};

/* To the right of the panel's name. Each colour is a square character, so that no width is guessed.
 */
static void draw_legend(struct canvas *canvas, const struct legend *legend, size_t count)
{
    buffer_format(canvas->svg, "<text class=\"soft small end\" x=\"%d\" y=\"", LEFT + PLOT);
    svg_number(canvas->svg, canvas->top - 12);
    buffer_append_text(canvas->svg, "\">");
    for (size_t i = 0; i < count; i++)
        buffer_format(canvas->svg, "%s<tspan class=\"key %s\">\xe2\x96\xa0</tspan>&#160;%s",
                      i ? "&#160;&#160; " : "", legend[i].class, legend[i].text);
    buffer_append_text(canvas->svg, "</text>\n");
}

static void open_panel(struct canvas *canvas, double height, const char *name,
                       const struct legend *legend, size_t count)
{
    canvas->top += ABOVE;
    canvas->height = height;
    svg_label(canvas->svg, "panel", LEFT, canvas->top - 12, name, SIZE_MAX);
    draw_legend(canvas, legend, count);
    for (int64_t at_s = 0; at_s <= canvas->span.length_s; at_s += canvas->step_s) {
        double x = place_of(canvas, canvas->span.first_s + at_s);

        svg_line(canvas->svg, "grid", x, canvas->top, x, canvas->top + height);
    }
}

static void close_panel(struct canvas *canvas)
{
    canvas->top += canvas->height;
    svg_line(canvas->svg, "base", LEFT, canvas->top, LEFT + PLOT, canvas->top);
}

static void draw_mark(struct canvas *canvas, double share, const char *text)
{
    double y = canvas->top + canvas->height * (1 - share);

    if (share > 0)
        svg_line(canvas->svg, "grid", LEFT, y, LEFT + PLOT, y);
    svg_label(canvas->svg, "soft small end", LEFT - 8, y + 4, text, SIZE_MAX);
}

static void draw_count_marks(struct canvas *canvas, int64_t most)
{
    int64_t step = axis_count_step(most, MARKS);

    for (int64_t count = 0; count <= most; count += step) {
        char text[AXIS_TEXT_SIZE];

        axis_count_format(count, text);
        draw_mark(canvas, (double)count / (double)most, text);
    }
}

static void draw_time_axis(struct canvas *canvas)
{
    for (int64_t at_s = 0; at_s <= canvas->span.length_s; at_s += canvas->step_s) {
        char text[AXIS_TEXT_SIZE];

        axis_time_format(at_s, canvas->step_s, text);
        svg_label(canvas->svg, "soft small middle", place_of(canvas, canvas->span.first_s + at_s),
                  canvas->top + 18, text, SIZE_MAX);
    }
    svg_label(canvas->svg, "soft small middle", LEFT + PLOT / 2.0, canvas->top + 40,
              "time since the first submission", SIZE_MAX);
}

/* -- areas: what each column has -- */

/* A shape from the base to share_of(column) of the panel's height, at most to its top. */
static void draw_area(struct canvas *canvas, const char *class,
                      double (*share_of)(const void *context, unsigned column), const void *context)
{
    double base = canvas->top + canvas->height;

    buffer_format(canvas->svg, "<path class=\"%s\" d=\"M%d,", class, LEFT);
    svg_number(canvas->svg, base);
    for (unsigned i = 0; i < canvas->span.columns; i++) {
        buffer_append_text(canvas->svg, "V");
        svg_number(canvas->svg, base - canvas->height * fmin(share_of(context, i), 1));
        buffer_append_text(canvas->svg, "H");
        svg_number(canvas->svg, column_place(canvas, i + 1));
    }
    buffer_append_text(canvas->svg, "V");
    svg_number(canvas->svg, base);
    buffer_append_text(canvas->svg, "Z\"/>\n");
}

struct level {
    const struct series *series;
    double most; /* at the top of the panel */
};

static double average_share(const void *context, unsigned column)
{
    const struct level *level = context;

    return level->series->average[column] / level->most;
}

static double most_share(const void *context, unsigned column)
{
    const struct level *level = context;

    return (double)level->series->most[column] / level->most;
}

/* What rises by `rise_of` a job at one time and falls by as much at a later one. */
static struct series *series_of(const struct canvas *canvas,
                                void (*steps_of)(const struct picture_job *job, struct step *steps))
{
    struct series *series = NEW(struct series);
    owned(free) struct step *steps = memory_resize(NULL, 2 * canvas->job_count, sizeof(*steps));

    for (size_t i = 0; i < canvas->job_count; i++)
        steps_of(canvas->jobs[i], steps + 2 * i);
    series_fill(series, &canvas->span, steps, 2 * canvas->job_count);
    return series;
}

static void steps_of_use(const struct picture_job *job, struct step *steps)
{
    steps[0] = (struct step){ .time_s = job->start_s, .rise = job->systems };
    steps[1] = (struct step){ .time_s = job->end_s, .rise = -(int64_t)job->systems };
}

static void steps_of_queue(const struct picture_job *job, struct step *steps)
{
    steps[0] = (struct step){ .time_s = job->submit_s, .rise = 1 };
    steps[1] = (struct step){ .time_s = job->start_s, .rise = -1 };
}

/* -- the three panels -- */

static const struct legend block_legend[] = {
    { "soon", "started at once" },
    { "late", "waited, at most as long as it ran" },
    { "later", "waited longer than it ran" },
};

static const char *class_of(const struct picture_job *job)
{
    int64_t wait_s = job->start_s - job->submit_s;

    if (wait_s == 0)
        return block_legend[0].class;
    return block_legend[wait_s <= job->end_s - job->start_s ? 1 : 2].class;
}

/* What a browser shows beside the pointer. */
static void draw_tip(struct canvas *canvas, const struct picture_job *job)
{
    int64_t first_s = canvas->span.first_s;

    buffer_format(canvas->svg,
                  "<title>job %" PRIu64 ": systems %" PRIu32 ", submitted at %" PRId64
                  " s, waited %" PRId64 " s, ran %" PRId64 " s</title>",
                  job->number, job->systems, job->submit_s - first_s, job->start_s - job->submit_s,
                  job->end_s - job->start_s);
}

struct block {
    struct canvas *canvas;
    const struct picture_job *job;
};

/* The first rows are at the bottom. The job's number is in it if it fits there. */
static void draw_block(void *context, uint32_t first, uint32_t count)
{
    const struct block *block = context;
    struct canvas *canvas = block->canvas;
    double row = canvas->height / canvas->picture->systems;
    double left = place_of(canvas, block->job->start_s),
           right = place_of(canvas, block->job->end_s);
    double top = canvas->top + canvas->height - row * (first + count), height = row * count;
    char name[AXIS_TEXT_SIZE];

    svg_rectangle(canvas->svg, class_of(block->job), left, top, right - left, height);
    int length = snprintf(name, sizeof(name), "%" PRIu64, block->job->number);
    if (height >= 13 && right - left >= 7.0 * length + 4)
        svg_label(canvas->svg, "on middle", (left + right) / 2, top + height / 2 + 4, name,
                  SIZE_MAX);
}

static void draw_blocks(struct canvas *canvas)
{
    owned(rows_done) struct rows rows = rows_new(canvas->picture->systems);

    for (size_t i = 0; i < canvas->job_count; i++) {
        const struct picture_job *job = canvas->jobs[i];
        struct block block = { .canvas = canvas, .job = job };

        buffer_append_text(canvas->svg, "<g class=\"block\">");
        draw_tip(canvas, job);
        rows_take(&rows, job->systems, job->start_s, job->end_s, draw_block, &block);
        buffer_append_text(canvas->svg, "</g>\n");
    }
}

static double blocks_height(uint32_t systems)
{
    double height = 18.0 * systems;

    return height < 120 ? 120 : height > 384 ? 384 : height;
}

static void draw_use(struct canvas *canvas)
{
    static const struct legend legend[] = { { "use", "average" }, { "use-most", "maximum" } };
    uint32_t systems = canvas->picture->systems;
    char all[AXIS_TEXT_SIZE], name[64];

    axis_count_format(systems, all);
    snprintf(name, sizeof(name), "systems in use, of %s", all);
    if (has_blocks(canvas)) {
        open_panel(canvas, blocks_height(systems), name, block_legend, ELEMENTS(block_legend));
        draw_count_marks(canvas, systems);
        draw_blocks(canvas);
    } else {
        owned(free) struct series *series = series_of(canvas, steps_of_use);
        struct level level = { .series = series, .most = systems };

        open_panel(canvas, 200, name, legend, ELEMENTS(legend));
        draw_count_marks(canvas, systems);
        draw_area(canvas, "use-most", most_share, &level);
        draw_area(canvas, "use", average_share, &level);
    }
    svg_line(canvas->svg, "all", LEFT, canvas->top, LEFT + PLOT, canvas->top);
    close_panel(canvas);
}

static void draw_queue(struct canvas *canvas)
{
    static const struct legend legend[] = { { "queue", "average" }, { "queue-most", "maximum" } };
    owned(free) struct series *series = series_of(canvas, steps_of_queue);
    int64_t most = axis_count_top(series_most(series, &canvas->span), MARKS);
    struct level level = { .series = series, .most = (double)most };
    bool few = has_blocks(canvas); /* then no two are in one column */

    open_panel(canvas, 130, "jobs waiting", legend, few ? 0 : ELEMENTS(legend));
    draw_count_marks(canvas, most);
    if (!few)
        draw_area(canvas, "queue-most", most_share, &level);
    draw_area(canvas, "queue", few ? most_share : average_share, &level);
    close_panel(canvas);
}

/* Of the jobs that were submitted in each column. */
struct waits {
    int64_t most_s[SERIES_COLUMNS];
    double sum_s[SERIES_COLUMNS];
    uint64_t count[SERIES_COLUMNS];
    unsigned marks; /* of the axis */
};

static double average_wait_share(const void *context, unsigned column)
{
    const struct waits *waits = context;

    if (waits->count[column] == 0)
        return 0;
    return axis_wait_position(waits->sum_s[column] / (double)waits->count[column]) / waits->marks;
}

static double most_wait_share(const void *context, unsigned column)
{
    const struct waits *waits = context;

    return axis_wait_position((double)waits->most_s[column]) / waits->marks;
}

static void draw_waits(struct canvas *canvas, unsigned marks)
{
    owned(free) struct waits *waits = NEW(struct waits);

    waits->marks = marks;
    for (size_t i = 0; i < canvas->job_count; i++) {
        int64_t wait_s = canvas->jobs[i]->start_s - canvas->jobs[i]->submit_s;
        unsigned column = span_column(&canvas->span, canvas->jobs[i]->submit_s);

        waits->count[column]++;
        waits->sum_s[column] += (double)wait_s;
        if (waits->most_s[column] < wait_s)
            waits->most_s[column] = wait_s;
    }
    draw_area(canvas, "wait-most", most_wait_share, waits);
    draw_area(canvas, "wait", average_wait_share, waits);
}

/* Each of a few jobs is a dot on a stem. */
static void draw_wait_dots(struct canvas *canvas, unsigned marks)
{
    double base = canvas->top + canvas->height;

    for (size_t i = 0; i < canvas->job_count; i++) {
        const struct picture_job *job = canvas->jobs[i];
        double wait_s = (double)(job->start_s - job->submit_s);
        double x = place_of(canvas, job->submit_s);
        double y = base - canvas->height * axis_wait_position(wait_s) / marks;
        char class[32];

        buffer_format(canvas->svg, "<g class=\"%s\">", class_of(job));
        draw_tip(canvas, job);
        snprintf(class, sizeof(class), "stem %s", class_of(job));
        svg_line(canvas->svg, class, x, base, x, y);
        buffer_append_text(canvas->svg, "<circle r=\"3.5\" cx=\"");
        svg_number(canvas->svg, x);
        buffer_append_text(canvas->svg, "\" cy=\"");
        svg_number(canvas->svg, y);
        buffer_append_text(canvas->svg, "\"/></g>\n");
    }
}

static void draw_wait(struct canvas *canvas)
{
    static const struct legend legend[] = { { "wait", "average" }, { "wait-most", "maximum" } };
    bool few = has_blocks(canvas);
    int64_t most_s = 0;

    for (size_t i = 0; i < canvas->job_count; i++)
        if (most_s < canvas->jobs[i]->start_s - canvas->jobs[i]->submit_s)
            most_s = canvas->jobs[i]->start_s - canvas->jobs[i]->submit_s;
    unsigned marks = axis_wait_marks(most_s);

    open_panel(canvas, 28.0 * marks > 84 ? 28.0 * marks : 84,
               "wait of the jobs, by time of submission", few ? block_legend : legend,
               few ? ELEMENTS(block_legend) : ELEMENTS(legend));
    for (unsigned mark = 0; mark <= marks; mark++) {
        char text[AXIS_TEXT_SIZE];

        axis_wait_format(mark, text);
        draw_mark(canvas, (double)mark / marks, text);
    }
    if (few)
        draw_wait_dots(canvas, marks);
    else
        draw_waits(canvas, marks);
    close_panel(canvas);
}

/* -- the whole -- */

static void draw_head(const struct picture *picture, struct buffer *svg)
{
    double step = (double)PLOT / PICTURE_MEASURES;

    svg_label(svg, "trace", LEFT, 40, picture->trace, 80);
    svg_label(svg, "soft", LEFT, 64, picture->options, 130);
    for (size_t i = 0; i < picture->measure_count && i < PICTURE_MEASURES; i++) {
        svg_label(svg, "soft small", LEFT + step * (double)i, 98, picture->measures[i].name, 22);
        svg_label(svg, "value", LEFT + step * (double)i, 120, picture->measures[i].value, 15);
    }
}

static void describe(const struct picture *picture, struct buffer *svg)
{
    buffer_append_text(svg, "<title>replay of ");
    svg_text(svg, picture->trace, 200);
    buffer_append_text(svg,
                       "</title>\n<desc>Over time: systems in use, jobs waiting, and the wait of "
                       "the jobs by their submission. ");
    svg_text(svg, picture->options, 1000);
    for (size_t i = 0; i < picture->measure_count; i++) {
        buffer_append_text(svg, "; ");
        svg_text(svg, picture->measures[i].name, 100);
        buffer_append_text(svg, ": ");
        svg_text(svg, picture->measures[i].value, 100);
    }
    buffer_append_text(svg, ".</desc>\n");
}

static int compare_starts(const void *left, const void *right)
{
    const struct picture_job *a = *(const struct picture_job *const *)left;
    const struct picture_job *b = *(const struct picture_job *const *)right;

    if (a->start_s != b->start_s)
        return a->start_s < b->start_s ? -1 : 1;
    return (a > b) - (a < b);
}

/* Those that ran, and the time that they span. */
static void take_jobs(struct canvas *canvas)
{
    const struct picture *picture = canvas->picture;
    int64_t first_s = INT64_MAX, last_s = 0;

    canvas->jobs = memory_resize(NULL, picture->job_count, sizeof(struct picture_job *));
    for (size_t i = 0; i < picture->job_count; i++) {
        const struct picture_job *job = &picture->jobs[i];

        if (job->start_s < 0)
            continue;
        canvas->jobs[canvas->job_count++] = job;
        first_s = job->submit_s < first_s ? job->submit_s : first_s;
        last_s = job->end_s > last_s ? job->end_s : last_s;
    }
    qsort(canvas->jobs, canvas->job_count, sizeof(struct picture_job *), compare_starts);
    canvas->span = span_of(canvas->job_count ? first_s : 0, last_s,
                           has_blocks(canvas) ? FEW_COLUMNS : MANY_COLUMNS);
    canvas->step_s = axis_time_step_s(canvas->span.length_s, MOMENTS);
}

static void draw_panels(struct canvas *canvas)
{
    if (canvas->job_count == 0) {
        svg_label(canvas->svg, "soft", LEFT, canvas->top + ABOVE, "no job ran", SIZE_MAX);
        canvas->top += ABOVE;
        return;
    }
    draw_use(canvas);
    draw_queue(canvas);
    draw_wait(canvas);
    draw_time_axis(canvas);
}

void picture_draw(const struct picture *picture, struct buffer *svg)
{
    owned(buffer_done) struct buffer body = BUFFER_EMPTY;
    struct canvas canvas = { .picture = picture, .svg = &body, .top = HEAD };

    take_jobs(&canvas);
    draw_panels(&canvas);
    free(canvas.jobs);

    int height = (int)canvas.top + FOOT;
    buffer_format(svg,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                  "viewBox=\"0 0 %d %d\">\n",
                  WIDTH, height, WIDTH, height);
    describe(picture, svg);
    buffer_append_text(svg, style);
    svg_rectangle(svg, "ground", 0, 0, WIDTH, height);
    draw_head(picture, svg);
    buffer_append(svg, buffer_data(&body), body.length);
    buffer_append_text(svg, "</svg>\n");
}
