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
#include "replay/measure.h"
#include "replay/options.h"
#include "replay/report.h"
#include "replay/trace.h"

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
        owned(free) char *text = text_format(
            "%s:%llu: %s, as %llu lines in all", options->trace, (unsigned long long)bad->line,
            trace_cause_text(TRACE_MALFORMED), (unsigned long long)bad->count);
        trace_done(ret);
        return fail(EX_DATAERR, text);
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
    owned(free) char *text = text_format("%s: %s", path, strerror(errno));
    return fail(EX_CANTCREAT, text);
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
    owned(free) char *text = text_format("%s: %s", options->report, strerror(errno));
    return fail(EX_CANTCREAT, text);
}

static int write_answer(const Wafer__Replay *answer)
{
    size_t length = wafer__replay__get_packed_size(answer);
    owned(free) uint8_t *packed = memory_new(length + 1);

    wafer__replay__pack(answer, packed);
    return fwrite(packed, 1, length, stdout) == length && fflush(stdout) == 0 ? 0 : EX_IOERR;
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

static int run_all(struct options *options, const struct trace *trace)
{
    Wafer__Replay *answer = answer_new(options, trace);
    struct progress progress = { .is_terminal = isatty(STDERR_FILENO) };
    int exit = 0;

    progress.run_count = options->systems_count * options->backfill_count * options->order_count;
    for (size_t i = 0; i < progress.run_count && !exit; i++) {
        size_t per_systems = options->backfill_count * options->order_count;
        struct replay_options chosen = {
            .systems = options->systems[i / per_systems],
            .rules = { .order = options->order[i / options->backfill_count % options->order_count],
                       .backfill = options->backfill[i % options->backfill_count] },
            .actual_estimates = options->actual_estimates,
            .ties = options->ties,
        };
        exit = run(options, trace, &chosen, &progress, answer);
    }
    if (!exit)
        exit = write_answer(answer);
    wafer__replay__free_unpacked(answer, NULL);
    return exit;
}

int main(int argc, char **argv)
{
    struct options options;
    struct trace trace;
    struct diag diag;

    if (options_parse(argc, argv, &options, &diag) < 0)
        return fail(EX_USAGE, diag.text);
    int exit = read_trace(&options, &trace);
    if (exit)
        return exit;
    if (!options.systems_count) {
        options.systems[0] = trace.machine;
        options.systems_count = 1;
    }
    exit = options.systems[0] ? run_all(&options, &trace)
                              : fail(EX_USAGE, "the trace does not say how large its machine was: "
                                               "give --systems N");
    trace_done(&trace);
    return exit;
}
