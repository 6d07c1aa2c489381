/* frame — messages on a byte stream: four bytes of length (little endian, at least 1), then that
 * many bytes of one packed message.
 *
 * Pure. A reader holds back no more than one incomplete frame, and memory for it only as its bytes
 * arrive: a length is checked against the limit as soon as it can be read. */
#ifndef WAFERD_NET_FRAME_H
#define WAFERD_NET_FRAME_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/cleanup.h"

#define FRAME_HEADER_BYTES 4

/* What one read from a socket asks for; a caller's array on the stack. */
#define FRAME_CHUNK_BYTES (64 << 10)

struct frame_reader {
    size_t limit;         /* of one message; may be changed between two frames */
    struct buffer held;   /* what frame_keep() or an incomplete frame left */
    size_t handed_out;    /* at the front of `held`: the frame returned last */
    const uint8_t *input; /* borrowed */
    size_t input_length;
};

void frame_reader_init(struct frame_reader *reader, size_t limit);
void frame_reader_done(struct frame_reader *reader);

/* Lend what was received: until frame_next() returned 0 or frame_keep() was called. */
void frame_feed(struct frame_reader *reader, const uint8_t *bytes, size_t length);

/* 1 and the next message, valid until the next call; 0: no whole one left.
 * -EMSGSIZE  over the limit; -EPROTO  length 0. The reader stays where it is. */
int frame_next(struct frame_reader *reader, const uint8_t **ret_bytes, size_t *ret_length);

/* Copy what was fed and not yet handed out, so that it need not be lent any longer. */
void frame_keep(struct frame_reader *reader);

/* Bytes that frame_next() did not hand out yet. */
bool frame_is_pending(const struct frame_reader *reader);

/* Append `message` as a frame; -EMSGSIZE, and nothing appended, over `limit`. */
int frame_append(struct buffer *buffer, const ProtobufCMessage *message, size_t limit);

#endif
