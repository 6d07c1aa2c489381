/* frame — one packed message with what it takes to find and prove it among damaged neighbours.
 *
 *     u32  length of the body
 *     u64  the job it is about, 0: not just one
 *     u32  check of the two above
 *     u64  check of the body
 *     ...  the body
 *
 * All little-endian. The head has a check of its own, so that a frame whose body is damaged still
 * says whose it is and where the next one begins. */
#ifndef WAFERD_STORE_FRAME_H
#define WAFERD_STORE_FRAME_H

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

#define FRAME_HEAD_BYTES     24
#define FRAME_BODY_BYTES_MAX (8 << 20)

struct frame {
    uint64_t job;
    const uint8_t *body; /* borrowed from what is walked */
    size_t length;
};

/* A message of our own beyond the limit is our own bug. */
void frame_put(struct buffer *buffer, uint64_t job, const ProtobufCMessage *message);

enum frame_state {
    FRAME_END,
    FRAME_WHOLE,
    FRAME_BODY_DAMAGED, /* the job is known */
    FRAME_HEAD_DAMAGED, /* the body is whole: its end was found by the frame after it */
    FRAME_LOST,         /* nothing can be said about what was there */
};

struct frame_walk {
    const uint8_t *bytes;
    size_t length, offset;
};

/* The next frame. A damaged head is stepped over by searching for the next whole frame. */
enum frame_state frame_walk_next(struct frame_walk *walk, struct frame *ret);

/* For readers of a stream: the length of the body after this head, or -1 when it is damaged. */
int64_t frame_head_length(const uint8_t head[static FRAME_HEAD_BYTES]);

#endif
