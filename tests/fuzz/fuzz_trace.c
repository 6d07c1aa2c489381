/* fuzz_trace — any bytes are a trace, or a record of failures, or refused; and a trace that is read
 * keeps what its header promises, and can be replayed. */
#include <assert.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "replay/drive.h"
#include "replay/failures.h"
#include "replay/measure.h"
#include "replay/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#define REPLAYED_MAX 200 /* jobs */

static int file_of(const uint8_t *bytes, size_t size)
{
    int fd = memfd_create("trace", 0);

    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET) != 0)
        abort();
    return fd;
}

static void check_trace(const struct trace *trace)
{
    for (size_t i = 0; i < trace->count; i++) {
        const struct trace_job *job = &trace->jobs[i];
        assert(job->submit_s >= 0 && job->run_s > 0 && job->run_s <= job->request_s);
        assert(job->systems > 0 && job->systems <= job->width);
        assert(i == 0 || job->submit_s >= job[-1].submit_s);
    }
}

static void replay(const struct trace *trace, const struct failures *failures)
{
    const struct replay_options options = { .systems = 64, .failures = failures };
    struct replay_result result;
    struct measured measured;

    replay_run(trace, &options, NULL, NULL, &result);
    measure(trace, &result, options.systems, &measured);
    assert(measured.all.jobs + result.too_wide == trace->count);
    measured_done(&measured);
    replay_result_done(&result);
}

static void check_failures(const uint8_t *bytes, size_t size, const struct trace *trace)
{
    struct failures record, failures;

    if (failures_read(file_of(bytes, size), "record", &record, NULL) < 0)
        return;
    if (failures_take(&record, 64, 0, &failures, NULL) < 0)
        abort(); /* so many there may be */
    for (size_t i = 0; i < failures.count; i++) {
        const struct failure *failure = &failures.items[i];
        assert(failure->down_s > 0 && failure->system < 64);
        assert(failure->time_s >= (i ? failure[-1].time_s : 0));
    }
    replay(trace, &failures);
    failures_done(&failures);
    failures_done(&record);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct trace_job jobs[] = { { .run_s = 500000, .request_s = 500000, .systems = 40 },
                                { .submit_s = 9, .run_s = 9, .request_s = 9, .systems = 60 } };
    const struct trace two = { .jobs = jobs, .count = ELEMENTS(jobs) };
    struct trace trace;

    check_failures(bytes, size, &two);
    if (trace_read(file_of(bytes, size), "trace", &trace, NULL) < 0)
        return 0;
    check_trace(&trace);
    if (trace.count <= REPLAYED_MAX)
        replay(&trace, NULL);
    trace_done(&trace);
    return 0;
}
