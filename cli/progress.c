#include "cli/progress.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "cli/job_text.h"
#include "cli/text.h"
#include "cli/units.h"
#include "model/job.h"

/* ---- changes, a line each ------------------------------------------------------------------ */

/* A checkpoint gets a line of its own when it is written: that it is being written needs none. */
static Wafer__Job__Phase told_phase(const Wafer__Job *job)
{
    return job->phase == WAFER__JOB__PHASE__CHECKPOINT ? WAFER__JOB__PHASE__EXECUTE : job->phase;
}

static bool state_changed(const Wafer__Job *before, const Wafer__Job *job)
{
    if (!before || before->state != job->state || before->has_phase != job->has_phase ||
        (job->has_phase && told_phase(before) != told_phase(job)))
        return true;
    return job->reason && (!before->reason || before->reason->code != job->reason->code);
}

static void add_systems(struct buffer *line, const Wafer__Job *job)
{
    size_t count = job->systems ? job->systems->n_allocated : 0;

    if (!count || !job_state_has_systems(job->state))
        return;
    if (count > 4) {
        buffer_format(line, " on %zu systems", count);
        return;
    }
    buffer_append_text(line, " on");
    for (size_t i = 0; i < count; i++)
        buffer_format(line, " %s", job->systems->allocated[i]);
}

static void add_end(struct buffer *line, const Wafer__Job *job)
{
    if (job->has_attempt && job->attempt > 1)
        buffer_format(line, ", %" PRIu32 " attempts", job->attempt);
    if (job->has_steps_lost && job->steps_lost)
        buffer_format(line, ", %s steps lost", units_grouped(job->steps_lost).text);
    if (job->result && job->result->has_final_step)
        buffer_format(line, ", at step %s", units_grouped(job->result->final_step).text);
    if (job->result && job->result->state_digest)
        buffer_format(line, ", digest %s", job->result->state_digest);
}

static void add_state(struct buffer *lines, const Wafer__Job *job)
{
    owned(free) char *why = job_why_text(job);

    buffer_format(lines, "job %s %s: %s", job_id_text(job).text, job->name ? job->name : "-",
                  job_state_name(job->state));
    if (job->has_phase)
        buffer_format(lines, " %s", job_phase_name(told_phase(job)));
    add_systems(lines, job);
    if (*why)
        buffer_format(lines, ": %s", why);
    if (job_state_is_terminal(job->state))
        add_end(lines, job);
    buffer_append_text(lines, "\n");
}

static void add_attempt(struct buffer *lines, const Wafer__Job *before, const Wafer__Job *job)
{
    if (!before || !job->has_attempt || job->attempt <= before->attempt || job->attempt < 2)
        return;
    buffer_format(lines, "job %s: attempt %" PRIu32, job_id_text(job).text, job->attempt);
    if (job->checkpoint && job->checkpoint->has_last_good_step)
        buffer_format(lines, " from step %s", units_grouped(job->checkpoint->last_good_step).text);
    else
        buffer_append_text(lines, " from the beginning");
    buffer_append_text(lines, "\n");
}

static bool is_same_checkpoint(const Wafer__Job__LastCheckpoint *a,
                               const Wafer__Job__LastCheckpoint *b)
{
    return a && a->has_last_good_step && a->last_good_step == b->last_good_step &&
           strcmp(a->last_good_id ? a->last_good_id : "", b->last_good_id ? b->last_good_id : "") ==
               0 &&
           a->verified == b->verified;
}

static void add_checkpoint(struct buffer *lines, const Wafer__Job *before, const Wafer__Job *job)
{
    const Wafer__Job__LastCheckpoint *checkpoint = job->checkpoint;

    if (!before || !checkpoint || !checkpoint->has_last_good_step ||
        is_same_checkpoint(before->checkpoint, checkpoint))
        return;
    buffer_format(lines, "job %s: checkpoint at step %s %s", job_id_text(job).text,
                  units_grouped(checkpoint->last_good_step).text,
                  checkpoint->verified ? "verified" : "written");
    if (checkpoint->has_bytes)
        buffer_format(lines, ", %s", units_bytes(checkpoint->bytes).text);
    buffer_append_text(lines, "\n");
}

static void add_figures(struct buffer *line, const Wafer__Job__Progress *progress)
{
    if (progress->loss)
        buffer_format(line, "  loss %s", units_decimal(progress->loss->micro, 4).text);
    if (progress->samples_per_s)
        buffer_format(line, "  %s samples/s",
                      units_decimal(progress->samples_per_s->micro, 1).text);
}

static void add_steps(struct buffer *lines, const Wafer__Job *before, const Wafer__Job *job)
{
    const Wafer__Job__Progress *progress = job->progress;
    unsigned percent = job_percent(job), percent_before = before ? job_percent(before) : 0;

    /* After a fall-back to a checkpoint the same tenths come again: that is news too. */
    if (!progress || !progress->has_step || percent / 10 <= percent_before / 10)
        return;
    buffer_format(lines, "job %s: %u%%  step %s of %s", job_id_text(job).text, percent,
                  units_grouped(progress->step).text, units_grouped(progress->max_steps).text);
    add_figures(lines, progress);
    if (progress->has_eta_s && percent < 100)
        buffer_format(lines, "  ends in %s", units_seconds(progress->eta_s).text);
    buffer_append_text(lines, "\n");
}

char *progress_changes(const Wafer__Job *before, const Wafer__Job *job, bool with_steps)
{
    owned(buffer_done) struct buffer lines = BUFFER_EMPTY;

    bool is_end = job_state_is_terminal(job->state), has_moved = state_changed(before, job);

    /* In the order in which it came about: the end is last. */
    add_attempt(&lines, before, job);
    if (has_moved && !is_end)
        add_state(&lines, job);
    if (with_steps)
        add_steps(&lines, before, job);
    add_checkpoint(&lines, before, job);
    if (has_moved && is_end)
        add_state(&lines, job);
    return buffer_text(&lines);
}

/* ---- the block ------------------------------------------------------------------------------ */

#define BAR_CELLS 30

void progress_init(struct progress *progress, const struct command *command, size_t job_count)
{
    const char *term = getenv("TERM");

    *progress = (struct progress){ .command = command };
    progress->is_live =
        job_count == 1 && command->err.is_terminal && term && *term && strcmp(term, "dumb") != 0;
}

void progress_erase(struct progress *progress)
{
    if (progress->drawn)
        fprintf(progress->command->err.stream, "\x1b[%uA\r\x1b[J", progress->drawn);
    progress->drawn = 0;
}

/* A line of the block, cut to the screen: a line that wraps could not be erased. */
static void draw_line(struct progress *progress, enum style style, struct buffer *line)
{
    const struct screen *screen = &progress->command->err;
    unsigned width = screen_width(screen);
    owned(free) char *text = buffer_text(line);
    owned(free) char *shown = text_display(text, screen->is_utf8);

    text_cut(shown, width ? width - 1 : 79);
    fprintf(screen->stream, "%s%s%s\n", screen_begin(screen, style), shown,
            screen_end(screen, style));
    progress->drawn++;
}

static void add_bar(struct buffer *line, unsigned percent, bool is_utf8)
{
    unsigned full = percent * BAR_CELLS / 100;

    buffer_append_text(line, is_utf8 ? "" : "[");
    for (unsigned i = 0; i < BAR_CELLS; i++)
        buffer_append_text(line, is_utf8 ? (i < full ? "█" : "░") : (i < full ? "#" : "-"));
    buffer_append_text(line, is_utf8 ? "" : "]");
}

static void draw_steps(struct progress *progress, const Wafer__Job *job)
{
    owned(buffer_done) struct buffer line = BUFFER_EMPTY;
    const Wafer__Job__Progress *steps = job->progress;

    if (!steps || !steps->has_step || !steps->has_max_steps)
        return;
    add_bar(&line, job_percent(job), progress->command->err.is_utf8);
    buffer_format(&line, " %3u%%  step %s of %s", job_percent(job), units_grouped(steps->step).text,
                  units_grouped(steps->max_steps).text);
    if (steps->has_eta_s)
        buffer_format(&line, "  ends in %s", units_seconds(steps->eta_s).text);
    draw_line(progress, STYLE_NONE, &line);
}

static void draw_figures(struct progress *progress, const Wafer__Job *job)
{
    owned(buffer_done) struct buffer line = BUFFER_EMPTY;
    const Wafer__Job__LastCheckpoint *checkpoint = job->checkpoint;

    if (job->has_attempt)
        buffer_format(&line, "attempt %" PRIu32, job->attempt);
    if (job->progress)
        add_figures(&line, job->progress);
    if (checkpoint && checkpoint->has_last_good_step)
        buffer_format(&line, "  checkpoint %s %s", units_grouped(checkpoint->last_good_step).text,
                      checkpoint->verified ? "verified" : "written");
    if (line.length)
        draw_line(progress, STYLE_NONE, &line);
}

static void draw(struct progress *progress, const Wafer__Job *job)
{
    owned(buffer_done) struct buffer line = BUFFER_EMPTY;

    buffer_format(&line, "job %s %s  %s %s", job_id_text(job).text, job->name ? job->name : "-",
                  job_state_name(job->state), job->has_phase ? job_phase_name(job->phase) : "");
    if (job->has_elapsed_s && job->elapsed_s > 0)
        buffer_format(&line, "  %s", units_seconds(job->elapsed_s).text);
    draw_line(progress, job_style(job), &line);
    draw_steps(progress, job);
    draw_figures(progress, job);
    buffer_append_text(&line, "Ctrl-C leaves the job running");
    draw_line(progress, STYLE_FAINT, &line);
}

static void print_lines(const struct screen *screen, char *lines)
{
    for (char *line = lines, *rest; *line; line = rest) {
        rest = line + strcspn(line, "\n");
        if (*rest)
            *rest++ = '\0';
        owned(free) char *shown = text_display(line, screen->is_utf8);
        fprintf(screen->stream, "%s\n", shown);
    }
}

void progress_show(struct progress *progress, const Wafer__Job *before, const Wafer__Job *job)
{
    owned(free) char *changes = progress_changes(before, job, !progress->is_live);

    progress_erase(progress);
    print_lines(&progress->command->err, changes);
    if (progress->is_live && !job_state_is_terminal(job->state))
        draw(progress, job);
    fflush(progress->command->err.stream);
}
