/* wafer-replay — what `wafer replay` runs: the scheduler over a recorded workload.
 *
 * It writes one packed Replay message to standard output, and to standard error how far it is and
 * what went wrong. It needs no controller and no privileges. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "replay/answer.h"
#include "replay/failures.h"
#include "replay/measure.h"
#include "replay/options.h"
#include "replay/report.h"
#include "replay/trace.h"
#include "replay/usage.h"
#include "scheduling.h"

/* ---- how far it is ---- */

struct progress {
    double began_s, shown_s; /* monotonic */
    bool is_terminal;
    size_t run, run_count;
};

static double monotonic_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void on_progress(void *userdata, size_t ended, size_t count)
{
    struct progress *progress = userdata;
    double now_s = monotonic_s(), spent_s = now_s - progress->began_s;

    if (now_s - progress->shown_s < (progress->is_terminal ? 0.2 : 10))
        return;
    progress->shown_s = now_s;
    double rate = (double)ended / spent_s;
    fprintf(stderr,
            "%swafer: replay: run %zu of %zu: %zu of %zu jobs, %.0f a second, %.0f s left%s",
            progress->is_terminal ? "\r\033[K" : "", progress->run, progress->run_count, ended,
            count, rate, (double)(count - ended) / rate, progress->is_terminal ? "" : "\n");
}

static void progress_end(const struct progress *progress)
{
    if (progress->is_terminal && progress->shown_s > progress->began_s)
        fputs("\r\033[K", stderr);
}

/* ---- files ---- */

static int fail(int exit, const char *text)
{
    fprintf(stderr, "wafer: replay: %s\n", text);
    return exit;
}

/* --strict, of a file that has such lines. */
static int refuse(const char *path, const struct trace_omission *bad, const char *what)
{
    owned(free) char *text =
        text_format("%s:%llu: %s, as %llu lines in all", path, (unsigned long long)bad->line, what,
                    (unsigned long long)bad->count);

    return fail(EX_DATAERR, text);
}

static int cannot_write(const char *path)
{
    owned(free) char *text = text_format("%s: %s", path, strerror(errno));

    return fail(EX_CANTCREAT, text);
}

static int read_trace(const struct options *options, struct trace *ret)
{
    bool is_stdin = strcmp(options->trace, "-") == 0;
    struct diag diag;
    int fd = is_stdin ? dup(STDIN_FILENO) : open(options->trace, O_RDONLY | O_CLOEXEC | O_NOCTTY);

    if (fd < 0) {
        owned(free) char *text = text_format("%s: %s", options->trace, strerror(errno));
        return fail(EX_NOINPUT, text);
    }
    int r = trace_read(fd, is_stdin ? "standard input" : options->trace, ret, &diag);
    if (r < 0)
        return fail(r == -EBADMSG || r == -ERANGE ? EX_DATAERR : EX_IOERR, diag.text);
    const struct trace_omission *bad = &ret->omissions[TRACE_MALFORMED];
    if (options->strict && bad->count) {
        int exit = refuse(options->trace, bad, trace_cause_text(TRACE_MALFORMED));
        trace_done(ret);
        return exit;
    }
    return 0;
}

static int write_schedule(const char *path, const struct trace *trace,
                          const struct replay_result *result)
{
    FILE *file = fopen(path, "we");

    if (file) {
        fputs("job_id,submit,start,end,procs\n", file);
        for (size_t i = 0; i < trace->count; i++)
            if (result->start_s[i] >= 0)
                fprintf(file, "%llu,%lld,%lld,%lld,%u\n", (unsigned long long)trace->jobs[i].id,
                        (long long)trace->jobs[i].submit_s, (long long)result->start_s[i],
                        (long long)result->end_s[i], trace->jobs[i].systems);
        bool is_bad = ferror(file);
        if (fclose(file) == 0 && !is_bad)
            return 0;
    }
    return cannot_write(path);
}

static int write_picture(const struct options *options, const struct trace *trace,
                         const struct replay_options *chosen, const struct replay_result *result,
                         const struct measured *measured)
{
    owned(buffer_done) struct buffer svg = BUFFER_EMPTY;

    report_draw(options->trace, trace, chosen, result, measured, &svg);
    FILE *file = fopen(options->report, "we");
    if (file) {
        bool is_written = fwrite(buffer_data(&svg), 1, svg.length, file) == svg.length;
        if (fclose(file) == 0 && is_written)
            return 0;
    }
    return cannot_write(options->report);
}

static int write_answer(const Wafer__Replay *answer)
{
    size_t length = wafer__replay__get_packed_size(answer);
    owned(free) uint8_t *packed = memory_new(length + 1);

    wafer__replay__pack(answer, packed);
    return fwrite(packed, 1, length, stdout) == length && fflush(stdout) == 0 ? 0 : EX_IOERR;
}

/* ---- systems that fail ---- */

static int read_record(const struct options *options, struct failures *ret)
{
    struct diag diag;
    int fd = open(options->failures, O_RDONLY | O_CLOEXEC | O_NOCTTY);

    if (fd < 0) {
        owned(free) char *text = text_format(
            "--failures: \"%s\" is neither a rate like mtbf=30d,repair=4h nor a file: %s",
            options->failures, strerror(errno));
        return fail(EX_NOINPUT, text);
    }
    int r = failures_read(fd, options->failures, ret, &diag);
    if (r < 0)
        return fail(r == -EBADMSG || r == -E2BIG ? EX_DATAERR : EX_IOERR, diag.text);
    if (options->strict && ret->malformed.count) {
        int exit = refuse(options->failures, &ret->malformed, FAILURES_MALFORMED);
        failures_done(ret);
        return exit;
    }
    return 0;
}

/* When the last job would end if nobody had to wait. */
static int64_t last_end_s(const struct trace *trace)
{
    int64_t last_s = 0;

    for (size_t i = 0; i < trace->count; i++)
        if (trace->jobs[i].submit_s + trace->jobs[i].run_s > last_s)
            last_s = trace->jobs[i].submit_s + trace->jobs[i].run_s;
    return last_s;
}

/* Those of one run. */
static int choose_failures(const struct options *options, const struct trace *trace,
                           const struct failures *record, uint32_t systems, struct failures *ret)
{
    int64_t begin_s = trace->count ? trace->jobs[0].submit_s : 0;
    struct diag diag;

    int r = options->has_rate ? failures_draw(&options->rate, options->seed, systems, begin_s,
                                              last_end_s(trace), ret, &diag)
                              : failures_take(record, systems, begin_s, ret, &diag);

    return r < 0 ? fail(EX_USAGE, diag.text) : 0;
}

/* ---- the policies of a site ---- */

/* Of its directory, or what holds without one. */
struct policies {
    Wafer__Scheduling *file; /* or NULL */
    struct schedule_rules schedule;
    struct usage_rules usage;
    struct score_share *shares;
};

static void policies_donep(struct policies *policies)
{
    if (policies->file)
        wafer__scheduling__free_unpacked(policies->file, NULL);
    free(policies->shares);
}

static int read_policies(const char *dir, struct policies *ret)
{
    *ret = (struct policies){ .schedule = scheduling_default() };
    if (dir) {
        owned(free) char *path = text_format("%s/scheduling.yaml", dir);
        owned(buffer_done) struct buffer lines = BUFFER_EMPTY;
        struct findings findings = { .file = path, .lines = &lines };
        int r = scheduling_read(&findings, &ret->file);
        findings_done(&findings);
        if (r < 0) {
            fprintf(stderr, "%.*s", (int)lines.length, (const char *)buffer_data(&lines));
            return fail(EX_DATAERR, "--policies: they cannot be used");
        }
        if (!ret->file) {
            owned(free) char *text = text_format("--policies: there is no %s", path);
            return fail(EX_NOINPUT, text);
        }
        ret->schedule = scheduling_rules(ret->file);
    }
    ret->usage.score = scheduling_scores(ret->file);
    ret->usage.shares = ret->shares = scheduling_shares(ret->file, &ret->usage.share_count);
    return 0;
}

/* ---- runs ---- */

static int run(const struct options *options, const struct trace *trace,
               const struct replay_options *chosen, struct progress *progress,
               Wafer__Replay *answer)
{
    struct replay_result result;
    struct measured measured;
    int exit = 0;

    progress->run++;
    progress->began_s = progress->shown_s = monotonic_s();
    replay_run(trace, chosen, on_progress, progress, &result);
    progress_end(progress);
    measure(trace, &result, chosen->systems, &measured);
    answer_add(answer, trace, chosen, &result, &measured);
    if (options->schedule)
        exit = write_schedule(options->schedule, trace, &result);
    if (!exit && options->report)
        exit = write_picture(options, trace, chosen, &result, &measured);
    measured_done(&measured);
    replay_result_done(&result);
    return exit;
}

static int run_all(const struct options *options, const struct trace *trace,
                   const struct failures *record, const struct policies *policies)
{
    Wafer__Replay *answer = answer_new(options, trace, record);
    struct progress progress = { .is_terminal = isatty(STDERR_FILENO) };
    int exit = 0;

    progress.run_count = options->systems_count * options->backfill_count * options->order_count;
    for (size_t i = 0; i < progress.run_count && !exit; i++) {
        size_t per_systems = options->backfill_count * options->order_count;
        struct replay_options chosen = {
            .systems = options->systems[i / per_systems],
            .rules = { .order = options->order[i / options->backfill_count % options->order_count],
                       .backfill = options->backfill[i % options->backfill_count],
                       .depth = policies->file ? policies->schedule.depth : 0 },
            .usage = &policies->usage,
            .actual_estimates = options->actual_estimates,
            .ties = options->ties,
            .checkpoint_s = options->checkpoint_s,
        };
        owned(failures_done) struct failures failures = { .items = NULL };
        if (options->failures) {
            exit = choose_failures(options, trace, record, chosen.systems, &failures);
            chosen.failures = &failures;
        }
        if (!exit)
            exit = run(options, trace, &chosen, &progress, answer);
    }
    if (!exit)
        exit = write_answer(answer);
    wafer__replay__free_unpacked(answer, NULL);
    return exit;
}

int main(int argc, char **argv)
{
    owned(failures_done) struct failures record = { .items = NULL };
    owned(policies_done) struct policies policies = { .file = NULL };
    struct options options;
    struct trace trace;
    struct diag diag;

    if (options_parse(argc, argv, &options, &diag) < 0)
        return fail(EX_USAGE, diag.text);
    int exit = read_policies(options.policies, &policies);
    if (!exit)
        exit = read_trace(&options, &trace);
    if (exit)
        return exit;
    if (!options.backfill_count)
        options.backfill[options.backfill_count++] = policies.schedule.backfill;
    if (!options.order_count)
        options.order[options.order_count++] = policies.schedule.order;
    if (!options.systems_count) {
        options.systems[0] = trace.machine;
        options.systems_count = 1;
    }
    if (!options.systems[0])
        exit = fail(EX_USAGE, "the trace does not say how large its machine was: give --systems N");
    if (!exit && options.failures && !options.has_rate)
        exit = read_record(&options, &record);
    if (!exit)
        exit = run_all(&options, &trace, &record, &policies);
    trace_done(&trace);
    return exit;
}
