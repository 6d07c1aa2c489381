#include "sim/log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

#include "base/cleanup.h"
#include "base/memory.h"

static struct {
    const char *program;
    bool journal;
    time_t second; /* of the count below */
    unsigned count, suppressed;
} output = { .program = "wafersim" };

/* The service manager says which file stderr was when it connected it to the journal; somebody may
 * have redirected it since. */
static bool stderr_is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    uintmax_t device, inode;
    struct stat status;

    return stream && sscanf(stream, "%ju:%ju", &device, &inode) == 2 &&
           fstat(STDERR_FILENO, &status) == 0 && status.st_dev == device && status.st_ino == inode;
}

void log_open(const char *program)
{
    output.program = program;
    output.journal = stderr_is_journal();
}

/* Details come from elsewhere: what a terminal would obey is written as \xNN. */
static char *escape(const char *text)
{
    char *escaped = memory_new(4 * strlen(text) + 1), *end = escaped;

    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c < 0x20 || *c == 0x7f)
            end += sprintf(end, "\\x%02x", *c);
        else
            *end++ = (char)*c;
    }
    return escaped;
}

static void write_journal(int priority, uint64_t job, const char *system, const char *text)
{
    char *fields[] = {
        text_format("MESSAGE=%s", text),
        text_format("PRIORITY=%d", priority),
        text_format("SYSLOG_IDENTIFIER=%s", output.program),
        text_format("JOB_ID=%" PRIu64, job),
        text_format("SYSTEM=%s", system ? system : ""),
    };
    struct iovec parts[ELEMENTS(fields)];
    int count = 0;

    for (size_t i = 0; i < ELEMENTS(fields); i++)
        if ((i != 3 || job != 0) && (i != 4 || system))
            parts[count++] = (struct iovec){ fields[i], strlen(fields[i]) };
    sd_journal_sendv(parts, count);
    for (size_t i = 0; i < ELEMENTS(fields); i++)
        free(fields[i]);
}

static void write_line(int priority, uint64_t job, const char *system, const char *text)
{
    owned(free) char *escaped = escape(text);

    if (output.journal) {
        write_journal(priority, job, system, escaped);
        return;
    }
    const char *weight = priority <= LOG_ERR       ? "error: "
                         : priority == LOG_WARNING ? "warning: "
                                                   : "";
    fprintf(stderr, "%s: %s%s\n", output.program, weight, escaped);
}

void log_write(int priority, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    owned(free) char *text = text_vformat(format, arguments);
    va_end(arguments);
    write_line(priority, 0, NULL, text);
}

static bool may_write(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec != output.second) {
        unsigned suppressed = output.suppressed;
        output.second = now.tv_sec;
        output.count = output.suppressed = 0;
        if (suppressed > 0)
            log_write(LOG_INFO, "%u more lines about jobs were not written", suppressed);
    }
    if (output.count < LOG_JOB_LINES_PER_S) {
        output.count++;
        return true;
    }
    output.suppressed++;
    return false;
}

void log_job(int priority, uint64_t job, const char *system, const char *format, ...)
{
    va_list arguments;

    if (!may_write())
        return;
    va_start(arguments, format);
    owned(free) char *what = text_vformat(format, arguments);
    va_end(arguments);
    owned(free) char *text = text_format("job %" PRIu64 ": %s", job, what);
    write_line(priority, job, system, text);
}
