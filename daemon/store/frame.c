#include "store/frame.h"

#include <assert.h>
#include <endian.h>
#include <stdbool.h>
#include <string.h>

#include "base/digest.h"

#define LENGTH_AT     0
#define JOB_AT        4
#define HEAD_CHECK_AT 12
#define BODY_CHECK_AT 16

static void put32(uint8_t *at, uint32_t value)
{
    value = htole32(value);
    memcpy(at, &value, sizeof(value));
}

static void put64(uint8_t *at, uint64_t value)
{
    value = htole64(value);
    memcpy(at, &value, sizeof(value));
}

static uint32_t get32(const uint8_t *at)
{
    uint32_t value;

    memcpy(&value, at, sizeof(value));
    return le32toh(value);
}

static uint64_t get64(const uint8_t *at)
{
    uint64_t value;

    memcpy(&value, at, sizeof(value));
    return le64toh(value);
}

void frame_put(struct buffer *buffer, uint64_t job, const ProtobufCMessage *message)
{
    size_t length = protobuf_c_message_get_packed_size(message);

    assert(length <= FRAME_BODY_BYTES_MAX);
    uint8_t *head = buffer_reserve(buffer, FRAME_HEAD_BYTES + length);
    uint8_t *body = head + FRAME_HEAD_BYTES;

    protobuf_c_message_pack(message, body);
    put32(head + LENGTH_AT, (uint32_t)length);
    put64(head + JOB_AT, job);
    put32(head + HEAD_CHECK_AT, (uint32_t)hash64(head, HEAD_CHECK_AT));
    put64(head + BODY_CHECK_AT, hash64(body, length));
    buffer_grow(buffer, FRAME_HEAD_BYTES + length);
}

int64_t frame_head_length(const uint8_t head[static FRAME_HEAD_BYTES])
{
    uint32_t length = get32(head + LENGTH_AT);

    if (length > FRAME_BODY_BYTES_MAX ||
        get32(head + HEAD_CHECK_AT) != (uint32_t)hash64(head, HEAD_CHECK_AT))
        return -1;
    return length;
}

static bool head_is_whole(const struct frame_walk *walk, size_t offset, size_t *ret_length)
{
    size_t left = walk->length - offset;

    if (left < FRAME_HEAD_BYTES)
        return false;
    int64_t length = frame_head_length(walk->bytes + offset);
    if (length < 0 || (size_t)length > left - FRAME_HEAD_BYTES)
        return false;
    *ret_length = (size_t)length;
    return true;
}

static bool body_is_whole(const uint8_t *head, size_t length)
{
    return get64(head + BODY_CHECK_AT) == hash64(head + FRAME_HEAD_BYTES, length);
}

/* Where the next whole frame begins, or the end. */
static size_t search(const struct frame_walk *walk, size_t offset)
{
    size_t length;

    for (; offset < walk->length; offset++)
        if (head_is_whole(walk, offset, &length) && body_is_whole(walk->bytes + offset, length))
            return offset;
    return walk->length;
}

static enum frame_state step_over(struct frame_walk *walk, struct frame *ret)
{
    const uint8_t *head = walk->bytes + walk->offset;
    size_t next = search(walk, walk->offset + 1);
    size_t extent = next - walk->offset;

    walk->offset = next;
    if (extent < FRAME_HEAD_BYTES || !body_is_whole(head, extent - FRAME_HEAD_BYTES))
        return FRAME_LOST;
    *ret = (struct frame){ .body = head + FRAME_HEAD_BYTES, .length = extent - FRAME_HEAD_BYTES };
    return FRAME_HEAD_DAMAGED;
}

enum frame_state frame_walk_next(struct frame_walk *walk, struct frame *ret)
{
    size_t length;

    if (walk->offset == walk->length)
        return FRAME_END;
    const uint8_t *head = walk->bytes + walk->offset;
    if (!head_is_whole(walk, walk->offset, &length))
        return step_over(walk, ret);
    *ret = (struct frame){
        .job = get64(head + JOB_AT),
        .body = head + FRAME_HEAD_BYTES,
        .length = length,
    };
    walk->offset += FRAME_HEAD_BYTES + length;
    return body_is_whole(head, length) ? FRAME_WHOLE : FRAME_BODY_DAMAGED;
}
