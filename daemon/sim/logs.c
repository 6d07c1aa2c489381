#include "sim/logs.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/map.h"
#include "base/memory.h"
#include "log/log.h"

enum { RETRY_US = 250000, NOTE_WIDTH = 100, NOTE_BYTES = 640 * NOTE_WIDTH };

/* Of one epoch of a job: `waiting`, then `lost_bytes` that nobody has any more. */
struct stream {
    struct logs *logs;
    struct list link; /* of all streams */
    uint64_t job, epoch;
    uint32_t attempt;
    uint64_t offset; /* where `waiting` begins in the log */
    struct buffer waiting;
    uint64_t lost_bytes;
    bool writing; /* a task is under way */
    bool failing; /* the last one failed: wait for the timer */
    bool ended;   /* goes when nothing waits */
};

struct logs {
    struct workers *workers;
    struct vault *vault;
    struct vault_log_writer *writer; /* the thread's */
    struct list streams;
    struct map by_job; /* the newest epoch of each */
    sd_event_source *retry;
    bool complained; /* since the last success */
};

struct log_task {
    struct task task;
    struct stream *stream;
    struct vault *vault;
    struct vault_log_writer *writer;
    uint64_t job, epoch, offset, lost_bytes;
    uint32_t attempt;
    struct buffer text;
    int error;
    struct diag diag;
};

/* --- on the thread --- */

/* Lines that fill exactly `length` bytes, the first of them saying what is missing. */
static void note_fill(char *bytes, size_t length, uint64_t lost_bytes)
{
    char note[NOTE_WIDTH];
    int text = snprintf(note, sizeof(note), "[%" PRIu64 " bytes of this log could not be kept]",
                        lost_bytes);

    memset(bytes, '.', length);
    for (size_t i = NOTE_WIDTH; i <= length; i += NOTE_WIDTH)
        bytes[i - 1] = '\n';
    memcpy(bytes, note, (size_t)text < length ? (size_t)text : length);
    bytes[length - 1] = '\n';
}

static int write_note(struct log_task *task, uint64_t offset)
{
    owned(free) char *bytes = memory_resize(NULL, 1, NOTE_BYTES);
    int r = 0;

    for (uint64_t left = task->lost_bytes; r == 0 && left > 0;) {
        size_t length = left < NOTE_BYTES ? (size_t)left : NOTE_BYTES;
        note_fill(bytes, length, task->lost_bytes);
        r = vault_log_append(task->vault, task->job, task->attempt, offset, bytes, length,
                             &task->diag);
        offset += length;
        left -= length;
    }
    return r;
}

static void run(struct task *base)
{
    struct log_task *task = CONTAINER_OF(base, struct log_task, task);

    const struct vault_log_text text = { .job = task->job,
                                         .epoch = task->epoch,
                                         .attempt = task->attempt,
                                         .offset = task->offset,
                                         .bytes = buffer_data(&task->text),
                                         .length = task->text.length };

    task->error = vault_log_write(task->writer, &text, &task->diag);
    if (task->error == 0)
        task->error = write_note(task, task->offset + task->text.length);
}

/* --- on the loop --- */

static void done(struct task *base);

static void stream_free(struct stream *stream)
{
    if (map_get(&stream->logs->by_job, stream->job) == stream)
        map_remove(&stream->logs->by_job, stream->job);
    list_remove(&stream->link);
    buffer_done(&stream->waiting);
    free(stream);
}

/* Hand everything that waits to the thread, unless it has something of this stream already. */
static void stream_write(struct stream *stream)
{
    if (stream->writing || stream->failing)
        return;
    if (stream->waiting.length == 0 && stream->lost_bytes == 0) {
        if (stream->ended)
            stream_free(stream);
        return;
    }
    struct log_task *task = NEW(struct log_task);
    task->task.run = run;
    task->task.done = done;
    task->stream = stream;
    task->vault = stream->logs->vault;
    task->writer = stream->logs->writer;
    task->job = stream->job;
    task->epoch = stream->epoch;
    task->attempt = stream->attempt;
    task->offset = stream->offset;
    task->text = stream->waiting;
    task->lost_bytes = stream->lost_bytes;
    stream->waiting = (struct buffer)BUFFER_EMPTY;
    stream->lost_bytes = 0;
    stream->offset += task->text.length + task->lost_bytes;
    stream->writing = true;
    workers_post(stream->logs->workers, &task->task);
}

/* Text after lost bytes is lost too: else the order would not stay. */
static void stream_add(struct stream *stream, const void *text, size_t length)
{
    if (stream->lost_bytes > 0 || stream->waiting.length + length > LOGS_WAITING_BYTES)
        stream->lost_bytes += length;
    else
        buffer_append(&stream->waiting, text, length);
}

/* What the task could not write comes before what has been added since. */
static void stream_put_back(struct stream *stream, struct log_task *task)
{
    struct buffer added = stream->waiting;
    uint64_t lost_bytes = stream->lost_bytes;

    stream->offset = task->offset;
    stream->waiting = task->text;
    stream->lost_bytes = task->lost_bytes;
    task->text = (struct buffer)BUFFER_EMPTY;
    stream_add(stream, buffer_data(&added), added.length);
    stream->lost_bytes += lost_bytes;
    buffer_done(&added);
}

static struct log_about about_stream(const struct stream *stream)
{
    return (struct log_about){ .job = stream->job, .attempt = stream->attempt };
}

static void stream_failed(struct stream *stream, struct log_task *task)
{
    const struct log_about about = about_stream(stream);
    struct logs *logs = stream->logs;

    if (map_get(&logs->by_job, stream->job) != stream) {
        log_write_some(LOG_WARNING, &about, "the end of its log is lost: %s", task->diag.text);
        stream_free(stream); /* a newer epoch is on: this one may write no more */
        return;
    }
    stream_put_back(stream, task);
    stream->failing = true;
    if (!logs->complained)
        log_write_some(LOG_WARNING, &about, "%s; trying again", task->diag.text);
    logs->complained = true;
    sd_event_source_set_time_relative(logs->retry, RETRY_US);
    sd_event_source_set_enabled(logs->retry, SD_EVENT_ONESHOT);
}

static void done(struct task *base)
{
    struct log_task *task = CONTAINER_OF(base, struct log_task, task);
    struct stream *stream = task->stream;
    const struct log_about about = about_stream(stream);

    stream->writing = false;
    if (task->error < 0) {
        stream_failed(stream, task);
    } else {
        if (stream->logs->complained)
            log_write_some(LOG_NOTICE, &about, "its log is written again");
        stream->logs->complained = false;
        stream_write(stream);
    }
    buffer_done(&task->text);
    free(task);
}

static int on_retry(sd_event_source *source, uint64_t time_us, void *userdata)
{
    struct logs *logs = userdata;

    list_foreach_safe (&logs->streams, link) {
        struct stream *stream = CONTAINER_OF(link, struct stream, link);
        if (stream->failing) {
            stream->failing = false;
            stream_write(stream);
        }
    }
    return 0;
}

int logs_new(sd_event *event, struct workers *workers, struct vault *vault, struct logs **ret)
{
    owned(logs_free) struct logs *logs = NEW(struct logs);

    logs->workers = workers;
    logs->vault = vault;
    logs->writer = vault_log_writer_new(vault);
    list_init(&logs->streams);
    int r = sd_event_add_time_relative(event, &logs->retry, CLOCK_MONOTONIC, 0, 0, on_retry, logs);
    if (r < 0)
        return r;
    r = sd_event_source_set_enabled(logs->retry, SD_EVENT_OFF);
    if (r < 0)
        return r;
    *ret = TAKE(logs);
    return 0;
}

struct logs *logs_free(struct logs *logs)
{
    if (!logs)
        return NULL;
    list_foreach_safe (&logs->streams, link)
        stream_free(CONTAINER_OF(link, struct stream, link));
    sd_event_source_disable_unref(logs->retry);
    map_done(&logs->by_job);
    vault_log_writer_free(logs->writer);
    free(logs);
    return NULL;
}

static void stream_end(struct stream *stream)
{
    stream->ended = true;
    stream_write(stream);
}

static struct stream *stream_new(struct logs *logs, uint64_t job, uint64_t epoch, uint32_t attempt,
                                 uint64_t offset)
{
    struct stream *older = map_get(&logs->by_job, job);
    struct stream *stream = NEW(struct stream);

    stream->logs = logs;
    stream->job = job;
    stream->epoch = epoch;
    stream->attempt = attempt;
    stream->offset = offset;
    list_push_tail(&logs->streams, &stream->link);
    map_put(&logs->by_job, job, stream);
    /* One that waits for a retry would come too late, perhaps into the newer one's log. */
    if (older && older->failing)
        stream_free(older);
    else if (older)
        stream_end(older);
    return stream;
}

void logs_add(struct logs *logs, uint64_t job, uint64_t epoch, uint32_t attempt, uint64_t offset,
              const char *text, size_t length)
{
    struct stream *stream = map_get(&logs->by_job, job);

    if (!stream || stream->epoch != epoch || stream->attempt != attempt)
        stream = stream_new(logs, job, epoch, attempt, offset);
    assert(stream->offset + stream->waiting.length + stream->lost_bytes == offset);
    stream_add(stream, text, length);
    stream_write(stream);
}

void logs_end(struct logs *logs, uint64_t job, uint64_t epoch)
{
    struct stream *stream = map_get(&logs->by_job, job);

    if (stream && stream->epoch == epoch)
        stream_end(stream);
}
