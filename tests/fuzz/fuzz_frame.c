/* fuzz_frame — any bytes, in any pieces, are frames or an error; any frame is a message or none.
 *
 * The first bytes of an input say in which pieces the rest arrives. What comes out must be what a
 * simple reader of the whole finds, and a message that was unpacked must survive being packed. */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "agent.pb-c.h"
#include "api.pb-c.h"
#include "base/memory.h"
#include "net/frame.h"
#include "net/hello.h"
#include "net/unpack.h"

#define LIMIT  4096
#define PIECES 16

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check_message(const ProtobufCMessageDescriptor *descriptor, const uint8_t *bytes,
                          size_t length)
{
    struct diag diag = { "" };
    ProtobufCMessage *message = net_unpack(descriptor, bytes, length, &diag);
    if (!message) {
        assert(diag.text[0]);
        return;
    }

    struct buffer packed = BUFFER_EMPTY;
    int r = frame_append(&packed, message, SIZE_MAX);
    assert(r == 0);
    ProtobufCMessage *again = net_unpack(descriptor, buffer_data(&packed) + FRAME_HEADER_BYTES,
                                         packed.length - FRAME_HEADER_BYTES, &diag);
    assert(again);
    protobuf_c_message_free_unpacked(again, NULL);
    protobuf_c_message_free_unpacked(message, NULL);
    buffer_done(&packed);
}

static void check_frame(const uint8_t *bytes, size_t length)
{
    struct diag diag;
    Wafer__Hello *hello;

    check_message(&wafer__request__descriptor, bytes, length);
    check_message(&wafer__response__descriptor, bytes, length);
    check_message(&wafer__to_controller__descriptor, bytes, length);
    check_message(&wafer__to_agent__descriptor, bytes, length);
    if (hello_read(bytes, length, "fuzz 0.1.0", &hello, &diag) == 0)
        wafer__hello__free_unpacked(hello, NULL);
}

/* Where the frame after `at` starts, or an error; 0: there is no whole one. */
static ssize_t next_by_hand(const uint8_t *bytes, size_t size, size_t at)
{
    if (size - at < FRAME_HEADER_BYTES)
        return 0;
    size_t length =
        bytes[at] | bytes[at + 1] << 8 | bytes[at + 2] << 16 | (size_t)bytes[at + 3] << 24;
    if (!length || length > LIMIT)
        return length ? -EMSGSIZE : -EPROTO;
    return size - at - FRAME_HEADER_BYTES < length ? 0
                                                   : (ssize_t)(at + FRAME_HEADER_BYTES + length);
}

/* Take up to `most` frames; they must be those that start at *at of the whole. Whether more bytes
 * are of use. */
static bool take(struct frame_reader *reader, const uint8_t *whole, size_t seen, size_t *at,
                 unsigned most)
{
    for (; most; most--) {
        const uint8_t *bytes;
        size_t length;
        int r = frame_next(reader, &bytes, &length);
        ssize_t end = next_by_hand(whole, seen, *at);
        assert((r > 0) == (end > 0));
        if (r <= 0) {
            assert(r == end);
            return r == 0;
        }
        assert(length == (size_t)end - *at - FRAME_HEADER_BYTES);
        assert(!memcmp(bytes, whole + *at + FRAME_HEADER_BYTES, length));
        check_frame(bytes, length);
        *at = (size_t)end;
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < PIECES)
        return 0;
    const uint8_t *whole = bytes + PIECES;
    size_t left = size - PIECES, seen = 0, at = 0;
    struct frame_reader reader;
    bool useful = true;

    frame_reader_init(&reader, LIMIT);
    for (unsigned i = 0; useful && left; i++) {
        size_t piece = (size_t)bytes[i % PIECES] * 4 + 1;
        if (piece > left)
            piece = left;
        uint8_t *lent = memory_copy(whole + seen, piece);
        frame_feed(&reader, lent, piece);
        seen += piece;
        left -= piece;
        /* Some owners stop reading after a frame, most do not. */
        useful = take(&reader, whole, seen, &at, bytes[i % PIECES] & 1 ? 1 : UINT_MAX);
        frame_keep(&reader);
        free(lent);
    }
    if (useful)
        take(&reader, whole, seen, &at, UINT_MAX);
    frame_reader_done(&reader);
    return 0;
}
