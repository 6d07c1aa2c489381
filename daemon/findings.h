/* findings — what is wrong with one file of the site, on its way into the lines of all. */
#ifndef WAFERD_FINDINGS_H
#define WAFERD_FINDINGS_H

#include <stdbool.h>

#include "base/buffer.h"
#include "model/bind.h"

struct findings {
    const char *file;
    struct bind_places *places;
    struct bind_errors errors;
    struct buffer *lines; /* "file:line:column: field: text\n", added when it is done */
};

void findings_done(struct findings *findings);
static inline void findings_donep(struct findings *findings)
{
    findings_done(findings);
}

__attribute__((format(printf, 3, 4))) void findings_add(struct findings *findings,
                                                        const char *field, const char *format, ...);

/* Read the file as a message of this type. `guarded`: only if it is no link, belongs to root or us,
 * and nobody else may write it. -EINVAL with what is wrong in the findings */
int findings_read(struct findings *findings, const ProtobufCMessageDescriptor *type, bool guarded,
                  ProtobufCMessage **ret);

void findings_check_kind(struct findings *findings, const char *version, const char *kind,
                         const char *wanted);

#endif
