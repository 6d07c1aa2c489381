#include "logs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/list.h"
#include "base/map.h"
#include "base/memory.h"
#include "ring.h"

#define CHUNK_BYTES (64 << 10)
#define JOB_MAX     ((uint64_t)INT64_MAX) /* ids are decimal numbers of people */
#define IDLE_RINGS  4096                  /* kept of jobs that nobody follows */
#define ENDED_RINGS                                                                                \
    64 /* kept of jobs that have ended: the vault may get their last lines later                   \
        */

/* What is known live of the log of one job. */
struct log {
    uint64_t job;
    uint64_t epoch;   /* of the newest lines */
    uint32_t attempt; /* the newest that is known */
    bool ended;       /* the job is final */
    struct ring ring; /* of `attempt` */
    struct list readers;
    bool busy;         /* its readers are being walked: whoever does so lets go of it */
    struct idle *idle; /* where `idle_link` is, while there is no reader */
    struct list idle_link;
};

struct reader {
    struct list link;         /* log->readers */
    struct list all_link;     /* logs->readers */
    struct list stalled_link; /* logs->stalled, while something waits for room */
    struct logs *logs;
    struct log *log;
    uint64_t client, request;
    uint32_t attempt, last_attempt; /* where it is; where it ends, unless the job goes on */
    uint64_t offset;
    bool follow, only_one; /* only_one: this attempt and no other */
    bool has_tail;         /* begin before the last lines, not yet looked up */
    uint64_t tail_lines;
    uint64_t missed_bytes;
    bool at_vault_end;      /* the vault had nothing from here on, and no lines came since */
    struct buffer text;     /* read from the vault and not sent yet */
    struct read_task *task; /* running, or NULL */
};

/* Logs that nobody reads are kept for whoever comes, up to a number. */
struct idle {
    struct list list; /* the oldest first */
    size_t count, limit;
};

struct logs {
    struct vault *vault;
    struct workers *workers;
    const struct logs_ops *ops;
    void *userdata;
    struct map logs; /* job -> struct log */
    struct list readers, stalled;
    struct idle live, ended;
};

struct logs *logs_new(struct vault *vault, struct workers *workers, const struct logs_ops *ops,
                      void *userdata)
{
    struct logs *logs = NEW(struct logs);

    *logs = (struct logs){ .vault = vault, .workers = workers, .ops = ops, .userdata = userdata };
    list_init(&logs->readers);
    list_init(&logs->stalled);
    list_init(&logs->live.list);
    list_init(&logs->ended.list);
    logs->live.limit = IDLE_RINGS;
    logs->ended.limit = ENDED_RINGS;
    return logs;
}

/* ---- logs that are known live ---- */

static void log_wake(struct log *log)
{
    if (!log->idle)
        return;
    log->idle->count--;
    log->idle = NULL;
    list_remove(&log->idle_link);
}

static void log_free(struct logs *logs, struct log *log)
{
    log_wake(log);
    map_remove(&logs->logs, log->job);
    ring_done(&log->ring);
    free(log);
}

static void log_rest(struct logs *logs, struct log *log)
{
    struct idle *idle = log->ended ? &logs->ended : &logs->live;

    log->idle = idle;
    list_push_tail(&idle->list, &log->idle_link);
    if (++idle->count > idle->limit)
        log_free(logs, CONTAINER_OF(idle->list.next, struct log, idle_link));
}

static struct log *log_of(struct logs *logs, uint64_t job)
{
    struct log *log = map_get(&logs->logs, job);

    if (log)
        return log;
    log = NEW(struct log);
    log->job = job;
    list_init(&log->readers);
    list_init(&log->idle_link);
    map_put(&logs->logs, job, log);
    log_rest(logs, log);
    return log;
}

/* ---- reading from the vault, on a worker ---- */

struct read_task {
    struct task task;
    struct reader *reader; /* NULL: it has gone meanwhile */
    struct vault *vault;
    uint64_t job, offset, ring_start;
    uint32_t attempt;
    bool has_tail;
    uint64_t tail_lines;
    struct buffer text;
    int error;
    struct diag diag;
};

static struct read_task *of_task(struct task *task)
{
    return CONTAINER_OF(task, struct read_task, task);
}

static void read_run(struct task *task)
{
    struct read_task *read = of_task(task);

    if (read->has_tail)
        read->error = vault_log_tail(read->vault, read->job, read->attempt, read->tail_lines,
                                     &read->offset, &read->diag);
    if (read->error >= 0)
        read->error = vault_log_read(read->vault, read->job, read->attempt, read->offset,
                                     CHUNK_BYTES, &read->text, &read->diag);
}

static void read_drop(struct task *task)
{
    buffer_done(&of_task(task)->text);
    free(of_task(task));
}

static void advance(struct reader *reader);
static void fail(struct reader *reader, const char *code, uint32_t status, const char *why);

static void read_finish(struct task *task)
{
    struct read_task *read = of_task(task);
    struct reader *reader = read->reader;

    if (!reader) {
        read_drop(task);
        return;
    }
    reader->task = NULL;
    if (read->error < 0 && read->error != -ENOENT) {
        fail(reader, "E_IO", EX_IOERR, read->diag.text);
        read_drop(task);
        return;
    }
    reader->offset = read->offset;
    reader->has_tail = false;
    if (read->text.length > 0) {
        reader->text = read->text;
        read->text = (struct buffer)BUFFER_EMPTY;
    } else {
        const struct ring *ring = &reader->log->ring;
        bool is_live = reader->attempt == reader->log->attempt && ring->end > ring->start;
        reader->at_vault_end = true;
        if (is_live && reader->offset < ring->start) {
            /* What is gone from the ring must be in the vault. If it was gone before we looked, it
             * is not; else look once more. */
            if (read->ring_start == ring->start) {
                reader->missed_bytes += ring->start - reader->offset;
                reader->offset = ring->start;
            } else {
                reader->at_vault_end = false;
            }
        }
    }
    read_drop(task);
    advance(reader);
}

static void read_start(struct reader *reader)
{
    struct logs *logs = reader->logs;
    struct read_task *read = NEW(struct read_task);

    read->task = (struct task){ .run = read_run, .finish = read_finish, .drop = read_drop };
    read->reader = reader;
    read->vault = logs->vault;
    read->job = reader->log->job;
    read->attempt = reader->attempt;
    read->offset = reader->offset;
    read->ring_start = reader->log->ring.start;
    read->has_tail = reader->has_tail;
    read->tail_lines = reader->tail_lines;
    reader->task = read;
    workers_add(logs->workers, &read->task);
}

/* ---- readers ---- */

static void reader_free(struct reader *reader)
{
    struct log *log = reader->log;

    if (reader->task)
        reader->task->reader = NULL;
    list_remove(&reader->link);
    list_remove(&reader->all_link);
    list_remove(&reader->stalled_link);
    buffer_done(&reader->text);
    if (list_is_empty(&log->readers) && !log->busy)
        log_rest(reader->logs, log);
    free(reader);
}

/* 0, -ENOBUFS (it is stalled), or 1: the reader is no more. */
static int reader_send(struct reader *reader, Wafer__Response *response, bool last)
{
    struct logs *logs = reader->logs;

    response->id = reader->request;
    response->has_more = true;
    response->more = !last;
    int r = logs->ops->send(logs->userdata, reader->client, response);
    if (r == -ENOBUFS) {
        if (list_is_empty(&reader->stalled_link))
            list_push_tail(&logs->stalled, &reader->stalled_link);
        return r;
    }
    if (r < 0 || last) {
        reader_free(reader);
        return 1;
    }
    list_remove(&reader->stalled_link);
    return 0;
}

static int send_chunk(struct reader *reader, const uint8_t *bytes, size_t length, bool last)
{
    Wafer__Response response = WAFER__RESPONSE__INIT;
    Wafer__LogChunk chunk = WAFER__LOG_CHUNK__INIT;

    chunk.has_attempt = true;
    chunk.attempt = reader->attempt;
    chunk.has_offset = true;
    chunk.offset = reader->offset;
    chunk.has_text = length > 0;
    chunk.text = (ProtobufCBinaryData){ .len = length, .data = (uint8_t *)bytes };
    chunk.has_missed_bytes = reader->missed_bytes > 0;
    chunk.missed_bytes = reader->missed_bytes;
    response.body_case = WAFER__RESPONSE__BODY_LOG;
    response.log = &chunk;
    int r = reader_send(reader, &response, last);
    if (r == 0) {
        reader->offset += length;
        reader->missed_bytes = 0;
    }
    return r;
}

static void fail(struct reader *reader, const char *code, uint32_t status, const char *why)
{
    Wafer__Response response = WAFER__RESPONSE__INIT;
    Wafer__Error error = WAFER__ERROR__INIT;

    error.code = (char *)code;
    error.exit = status;
    error.message = (char *)why;
    response.body_case = WAFER__RESPONSE__BODY_ERROR;
    response.error = &error;
    /* A full queue: the reader is stalled, and reads again when there is room. */
    reader_send(reader, &response, true);
}

static bool has_next_attempt(const struct reader *reader)
{
    return !reader->only_one && reader->attempt < reader->last_attempt;
}

/* Whether more can come after the end of what there is. */
static bool may_grow(const struct reader *reader)
{
    if (!reader->follow || reader->log->ended)
        return false;
    return !reader->only_one || reader->attempt >= reader->last_attempt;
}

/* One piece from where it is nearest. 0: go on; else wait, or the reader is no more. */
static int advance_once(struct reader *reader)
{
    const struct log *log = reader->log;
    const uint8_t *bytes;

    if (reader->text.length > 0) {
        int r = send_chunk(reader, buffer_data(&reader->text), reader->text.length, false);
        if (r == 0)
            buffer_done(&reader->text);
        return r;
    }
    if (log->attempt > reader->last_attempt)
        reader->last_attempt = log->attempt;
    if (!reader->has_tail && reader->attempt == log->attempt) {
        size_t length = ring_at(&log->ring, reader->offset, &bytes);
        if (length > 0) {
            int r = send_chunk(reader, bytes, length, false);
            if (r == 0 && reader->offset == log->ring.end)
                reader->at_vault_end = true; /* whoever has the newest line has them all */
            return r;
        }
    }
    if (!reader->at_vault_end) {
        read_start(reader);
        return 1;
    }
    if (has_next_attempt(reader)) {
        reader->attempt++;
        reader->offset = 0;
        reader->at_vault_end = false;
        return 0;
    }
    if (!may_grow(reader))
        send_chunk(reader, NULL, 0, true);
    else if (reader->missed_bytes > 0)
        return send_chunk(reader, NULL, 0, false);
    return 1;
}

static void advance(struct reader *reader)
{
    if (reader->task)
        return;
    while (advance_once(reader) == 0)
        ;
}

/* Something happened to the log: what was its end need not be. */
static void advance_all(struct logs *logs, struct log *log)
{
    if (log->idle)
        return;
    log->busy = true;
    list_foreach_safe (&log->readers, link) {
        struct reader *reader = CONTAINER_OF(link, struct reader, link);
        reader->at_vault_end = false;
        advance(reader);
    }
    log->busy = false;
    if (list_is_empty(&log->readers))
        log_rest(logs, log);
}

/* ---- what happens ---- */

/* An earlier grant got this attempt's number and never began for the controller: its lines are
 * replaced by those of the next. */
static void begin_again(struct log *log)
{
    ring_reset(&log->ring);
    list_foreach (&log->readers, link) {
        struct reader *reader = CONTAINER_OF(link, struct reader, link);
        if (reader->attempt == log->attempt && log->epoch > 0)
            reader->offset = 0;
    }
}

void logs_on_lines(struct logs *logs, const Wafer__LogLines *lines)
{
    if (lines->job > JOB_MAX)
        return;
    struct log *log = log_of(logs, lines->job);
    if (log->ended || lines->attempt < log->attempt || lines->fence->epoch < log->epoch)
        return; /* of what is over: the vault has it */
    if (lines->attempt == log->attempt && lines->fence->epoch > log->epoch)
        begin_again(log);
    if (lines->attempt > log->attempt)
        ring_reset(&log->ring);
    log->attempt = lines->attempt;
    log->epoch = lines->fence->epoch;
    ring_add(&log->ring, lines->offset, lines->text.data, lines->text.len);
    advance_all(logs, log);
}

void logs_on_record(struct logs *logs, const Wafer__Record *record)
{
    struct log *log;

    if (!record->has_job || !record->job_state || !(log = map_get(&logs->logs, record->job)))
        return;
    if (record->kind == WAFER__RECORD_KIND__JOB_STARTED &&
        record->job_state->attempt > log->attempt) {
        log->attempt = record->job_state->attempt;
        ring_reset(&log->ring);
    } else if (record->kind == WAFER__RECORD_KIND__JOB_ENDED) {
        log->ended = true;
    } else {
        return;
    }
    if (log->idle && log->ended) {
        log_wake(log);
        log_rest(logs, log); /* among the others that have ended */
    } else {
        advance_all(logs, log);
    }
}

void logs_serve(struct logs *logs, uint64_t client, uint64_t request, uint64_t job,
                uint32_t attempt, bool ended, const Wafer__LogsRequest *message)
{
    struct log *log = log_of(logs, job);
    struct reader *reader = NEW(struct reader);
    bool only_one = message->target->has_attempt;
    bool has_tail = message->has_tail && !message->has_from_attempt;

    log->ended |= ended;
    if (attempt > log->attempt)
        log->attempt = attempt;
    log_wake(log);
    list_push_tail(&log->readers, &reader->link);
    list_push_tail(&logs->readers, &reader->all_link);
    list_init(&reader->stalled_link);
    reader->logs = logs;
    reader->log = log;
    reader->client = client;
    reader->request = request;
    reader->only_one = only_one;
    reader->follow = message->follow;
    reader->has_tail = has_tail;
    reader->tail_lines = message->tail;
    if (only_one)
        reader->attempt = message->target->attempt;
    else if (message->has_from_attempt)
        reader->attempt = message->from_attempt;
    else /* the last lines are those of the newest attempt */
        reader->attempt = has_tail && attempt ? attempt : 1;
    if (message->has_from_attempt && reader->attempt == message->from_attempt)
        reader->offset = message->from_offset;
    reader->last_attempt = attempt;
    if (only_one && reader->attempt > attempt && !may_grow(reader)) {
        owned(free) char *why =
            text_format("job %" PRIu64 " has no attempt %" PRIu32 " (so far %" PRIu32 ")", job,
                        reader->attempt, attempt);
        fail(reader, "E_NOT_FOUND", EX_NOINPUT, why);
        return;
    }
    advance(reader);
}

void logs_turn(struct logs *logs)
{
    list_foreach_safe (&logs->stalled, link)
        advance(CONTAINER_OF(link, struct reader, stalled_link));
}

void logs_drop_client(struct logs *logs, uint64_t client)
{
    list_foreach_safe (&logs->readers, link) {
        struct reader *reader = CONTAINER_OF(link, struct reader, all_link);
        if (reader->client == client)
            reader_free(reader);
    }
}

size_t logs_of_client(const struct logs *logs, uint64_t client)
{
    size_t count = 0;

    list_foreach (&logs->readers, link)
        count += CONTAINER_OF(link, struct reader, all_link)->client == client;
    return count;
}

struct logs *logs_free(struct logs *logs)
{
    size_t cursor = 0;

    if (!logs)
        return NULL;
    list_foreach_safe (&logs->readers, link)
        reader_free(CONTAINER_OF(link, struct reader, all_link));
    for (struct log *log; (log = map_next(&logs->logs, &cursor));)
        log_free(logs, log);
    map_done(&logs->logs);
    free(logs);
    return NULL;
}
