#include "log/log.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* Beside PRIORITY and SYSLOG_IDENTIFIER the fields take systemd's own call. */
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/memory.h"

#define LINES_PER_S 50

static struct {
    const char *program;
    bool journal;  /* stderr is the journal's stream: talk to it in its own protocol */
    time_t second; /* of log_write_some() */
    unsigned count, left_out;
} output = { .program = "waferd" };

/* The service manager tells which file stderr was when it connected it to the journal; somebody may
 * have redirected it since. */
static bool stderr_is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    uintmax_t device, inode;
    struct stat st;

    return stream && sscanf(stream, "%ju:%ju", &device, &inode) == 2 &&
           fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

void log_open(const char *program)
{
    output.program = program;
    output.journal = stderr_is_journal();
}

static void append_escaped(struct buffer *line, const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c < 0x20 || *c == 0x7f)
            buffer_format(line, "\\x%02x", *c);
        else
            buffer_append(line, c, 1);
    }
}

static void write_stderr(int priority, const char *text)
{
    owned(buffer_done) struct buffer line = BUFFER_EMPTY;

    buffer_format(&line, "%s: ", output.program);
    if (priority <= LOG_WARNING)
        buffer_append_text(&line, priority <= LOG_ERR ? "error: " : "warning: ");
    buffer_append_text(&line, text);
    buffer_append(&line, "\n", 1);
    /* In one call, so that lines of several processes do not mix. Nobody left to tell of a failure.
     */
    ssize_t written = write(STDERR_FILENO, buffer_data(&line), line.length);
    if (written < 0)
        return;
}

static void write_journal(int priority, const struct log_about *about, const char *text)
{
    struct iovec fields[6];
    char *texts[6];
    int count = 0;

    texts[count++] = text_format("MESSAGE=%s", text);
    texts[count++] = text_format("PRIORITY=%d", priority);
    texts[count++] = text_format("SYSLOG_IDENTIFIER=%s", output.program);
    if (about && about->job)
        texts[count++] = text_format("JOB_ID=%" PRIu64, about->job);
    if (about && about->attempt)
        texts[count++] = text_format("ATTEMPT=%" PRIu32, about->attempt);
    if (about && about->system)
        texts[count++] = text_format("SYSTEM=%s", about->system);
    for (int i = 0; i < count; i++)
        fields[i] = (struct iovec){ .iov_base = texts[i], .iov_len = strlen(texts[i]) };
    if (sd_journal_sendv(fields, count) < 0)
        write_stderr(priority, text);
    for (int i = 0; i < count; i++)
        free(texts[i]);
}

void log_write(int priority, const struct log_about *about, const char *format, ...)
{
    owned(buffer_done) struct buffer escaped = BUFFER_EMPTY;
    va_list arguments;

    va_start(arguments, format);
    owned(free) char *text = text_vformat(format, arguments);
    va_end(arguments);
    append_escaped(&escaped, text);
    owned(free) char *line = buffer_text(&escaped);
    if (output.journal)
        write_journal(priority, about, line);
    else
        write_stderr(priority, line);
}

static bool may_write(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec != output.second) {
        unsigned left_out = output.left_out;
        output.second = now.tv_sec;
        output.count = output.left_out = 0;
        if (left_out > 0)
            log_info("%u more lines were left out", left_out);
    }
    if (output.count < LINES_PER_S) {
        output.count++;
        return true;
    }
    output.left_out++;
    return false;
}

void log_write_some(int priority, const struct log_about *about, const char *format, ...)
{
    va_list arguments;

    if (!may_write())
        return;
    va_start(arguments, format);
    owned(free) char *text = text_vformat(format, arguments);
    va_end(arguments);
    if (about && about->job)
        log_write(priority, about, "job %" PRIu64 ": %s", about->job, text);
    else
        log_write(priority, about, "%s", text);
}
