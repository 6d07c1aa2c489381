/* One line of a Standard Workload Format file:
 * https://www.cs.huji.ac.il/labs/parallel/workload/swf.html */
#include <string.h>

#include "replay/trace_inside.h"

enum { COLUMNS = 18, USED = 15 };

/* Columns that count, from 0. */
enum { ID, SUBMIT, RUN = 3, ALLOCATED = 4, REQUESTED = 7, TIME = 8, USER = 11, QUEUE = 14 };

static const char *skip_blanks(const char *text)
{
    while (*text == ' ' || *text == '\t')
        text++;
    return text;
}

/* A number; a fraction is cut off. NULL: it is none, or has more than 15 digits. */
static const char *number(const char *text, int64_t *ret)
{
    bool is_negative = *text == '-';
    const char *first = text += is_negative;
    int64_t value = 0;

    while (*text >= '0' && *text <= '9' && text - first < 16)
        value = value * 10 + (*text++ - '0');
    if (text == first || text - first == 16)
        return NULL;
    if (*text == '.')
        for (text++; *text >= '0' && *text <= '9';)
            text++;
    *ret = is_negative ? -value : value;
    return text;
}

/* "; MaxProcs: 100" */
static void comment(struct trace *trace, const char *text)
{
    static const char key[] = "MaxProcs:";
    int64_t value;

    text = skip_blanks(text + 1);
    if (strncmp(text, key, sizeof(key) - 1) == 0 &&
        number(skip_blanks(text + sizeof(key) - 1), &value) && value > 0 && value <= UINT32_MAX)
        trace->machine = (uint32_t)value;
}

void trace_read_swf(struct trace *trace, const struct line *line)
{
    const char *text = skip_blanks(line->text);
    int64_t columns[COLUMNS];
    int count = 0;

    if (*text == ';') {
        comment(trace, text);
        return;
    }
    if (!line->length)
        return;
    for (; count < COLUMNS && *text; count++) {
        text = number(text, &columns[count]);
        if (!text || (*text && *text != ' ' && *text != '\t'))
            break;
        text = skip_blanks(text);
    }
    if (count < USED || line->is_cut || text != line->text + line->length) {
        trace_omit(trace, line, TRACE_MALFORMED);
        return;
    }
    int64_t allocated = columns[ALLOCATED], requested = columns[REQUESTED];
    struct trace_entry entry = {
        .id = columns[ID],
        .submit_s = columns[SUBMIT],
        .run_s = columns[RUN],
        .request_s = columns[TIME],
        .systems = requested > 0 ? requested : allocated,
        .width = requested > allocated ? requested : allocated,
        .user = columns[USER],
        .queue = columns[QUEUE],
    };
    trace_add(trace, line, &entry);
}
