/* errors — what a reader complained about, as one text that tests compare. */
#ifndef WAFERD_TESTS_MODEL_ERRORS_H
#define WAFERD_TESTS_MODEL_ERRORS_H

#include "base/buffer.h"
#include "base/cleanup.h"
#include "model/bind.h"

/* One error a line, as "6:21: checkpoint.every: ..."; empties `errors`. The caller frees. */
static inline char *errors_text(struct bind_errors *errors)
{
    owned(buffer_done) struct buffer buffer = BUFFER_EMPTY;

    for (size_t i = 0; i < errors->count; i++) {
        owned(free) char *line = bind_error_format(&errors->items[i], NULL);
        buffer_format(&buffer, "%s\n", line);
    }
    if (errors->cut)
        buffer_append_text(&buffer, "...\n");
    bind_errors_done(errors);
    return buffer_text(&buffer);
}

#endif
