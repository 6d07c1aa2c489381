#include "net/hello.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "net/frame.h"
#include "net/unpack.h"

void hello_append(struct buffer *buffer, const char *program, const char *role)
{
    Wafer__Hello hello = WAFER__HELLO__INIT;

    hello.magic = NET_MAGIC;
    hello.major = NET_MAJOR;
    hello.minor = NET_MINOR;
    hello.program = (char *)program;
    hello.role = (char *)role;
    assert(strlen(program) <= HELLO_PROGRAM_MAX);
    int r = frame_append(buffer, &hello.base, HELLO_LIMIT_BYTES);
    assert(r == 0);
}

/* The text goes to logs and terminals. */
static bool is_printable(const char *text)
{
    size_t length = strlen(text);

    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            return false;
    return length > 0 && length <= HELLO_PROGRAM_MAX;
}

static bool is_understood(const Wafer__Hello *peer)
{
    uint32_t apart = peer->minor > NET_MINOR ? peer->minor - NET_MINOR : NET_MINOR - peer->minor;

    return peer->major == NET_MAJOR && apart <= 1;
}

int hello_read(const uint8_t *bytes, size_t length, const char *program, Wafer__Hello **ret,
               struct diag *diag)
{
    owned(hello_free) Wafer__Hello *peer =
        (Wafer__Hello *)net_unpack(&wafer__hello__descriptor, bytes, length, diag);

    if (!peer || peer->magic != NET_MAGIC)
        return diag_fail(diag, -EPROTO,
                         "the first frame is no Hello: the peer does not speak this protocol");
    if (!is_printable(peer->program))
        return diag_fail(diag, -EPROTO,
                         "the program in the peer's Hello is not a printable text of 1 to %d bytes",
                         HELLO_PROGRAM_MAX);
    if (peer->role && !is_printable(peer->role))
        return diag_fail(diag, -EPROTO,
                         "the role in the peer's Hello is not a printable text of 1 to %d bytes",
                         HELLO_PROGRAM_MAX);
    if (!is_understood(peer))
        return diag_fail(diag, -EPROTONOSUPPORT,
                         "%s speaks protocol %u.%u and %s speaks %d.%d: they must be of one major "
                         "and at most one minor apart",
                         peer->program, peer->major, peer->minor, program, NET_MAJOR, NET_MINOR);

    *ret = TAKE(peer);
    return 0;
}
