/* hello — the first frame of either side: what it speaks and what it is. */
#ifndef WAFERD_NET_HELLO_H
#define WAFERD_NET_HELLO_H

#include <stddef.h>
#include <stdint.h>

#include "api.pb-c.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/diag.h"

#define NET_MAGIC 0x57464452u /* "WFDR" */
#define NET_MAJOR 1
#define NET_MINOR 1

#define HELLO_PROGRAM_MAX 256  /* bytes of a program's name and version */
#define HELLO_LIMIT_BYTES 4096 /* of a Hello; a later minor may say more */

/* `role`: what a client acts with alone; NULL: with all that he has. */
void hello_append(struct buffer *buffer, const char *program, const char *role);

/* The peer's Hello out of a frame, to be freed with wafer__hello__free_unpacked().
 * -EPROTO           no Hello, or its program or role is empty, too long or holds control bytes
 * -EPROTONOSUPPORT  another major, or more than one minor apart; `diag` names both sides */
int hello_read(const uint8_t *bytes, size_t length, const char *program, Wafer__Hello **ret,
               struct diag *diag);

static inline void hello_freep(Wafer__Hello **hello)
{
    wafer__hello__free_unpacked(*hello, NULL);
}

#endif
