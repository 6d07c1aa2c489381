#include "net/frame.h"

#include <errno.h>

/* An idle reader may keep this much; more goes back, as most connections idle. */
#define IDLE_BYTES 4096

static size_t length_read(const uint8_t header[static FRAME_HEADER_BYTES])
{
    return (size_t)header[0] | (size_t)header[1] << 8 | (size_t)header[2] << 16 |
           (size_t)header[3] << 24;
}

static void length_write(uint8_t header[static FRAME_HEADER_BYTES], size_t length)
{
    for (int i = 0; i < FRAME_HEADER_BYTES; i++)
        header[i] = (uint8_t)(length >> 8 * i);
}

void frame_reader_init(struct frame_reader *reader, size_t limit)
{
    *reader = (struct frame_reader){ .limit = limit, .held = BUFFER_EMPTY };
}

void frame_reader_done(struct frame_reader *reader)
{
    buffer_done(&reader->held);
}

void frame_feed(struct frame_reader *reader, const uint8_t *bytes, size_t length)
{
    frame_keep(reader);
    reader->input = bytes;
    reader->input_length = length;
}

static void drop_handed_out(struct frame_reader *reader)
{
    buffer_take(&reader->held, reader->handed_out);
    reader->handed_out = 0;
    if (!reader->held.length && reader->held.capacity > IDLE_BYTES)
        buffer_done(&reader->held);
}

static void hold(struct frame_reader *reader, size_t length)
{
    if (length > reader->input_length)
        length = reader->input_length;
    if (!length)
        return;
    buffer_append(&reader->held, reader->input, length);
    reader->input += length;
    reader->input_length -= length;
}

/* The size of the frame that starts at `bytes`, header included; 0: too few bytes to tell. */
static int frame_size(const struct frame_reader *reader, const uint8_t *bytes, size_t available,
                      size_t *ret_size)
{
    *ret_size = 0;
    if (available < FRAME_HEADER_BYTES)
        return 0;
    size_t length = length_read(bytes);
    if (!length)
        return -EPROTO;
    if (length > reader->limit)
        return -EMSGSIZE;
    *ret_size = FRAME_HEADER_BYTES + length;
    return 0;
}

/* The next frame out of `held`, topped up from the input with just what the frame still wants. */
static int next_held(struct frame_reader *reader, size_t *ret_size)
{
    if (reader->held.length < FRAME_HEADER_BYTES)
        hold(reader, FRAME_HEADER_BYTES - reader->held.length);
    int r = frame_size(reader, buffer_data(&reader->held), reader->held.length, ret_size);
    if (r < 0 || !*ret_size)
        return r;
    if (reader->held.length < *ret_size)
        hold(reader, *ret_size - reader->held.length);
    return reader->held.length >= *ret_size;
}

int frame_next(struct frame_reader *reader, const uint8_t **ret_bytes, size_t *ret_length)
{
    size_t size;

    drop_handed_out(reader);
    if (reader->held.length) {
        int r = next_held(reader, &size);
        if (r <= 0)
            return r;
        reader->handed_out = size;
        *ret_bytes = buffer_data(&reader->held) + FRAME_HEADER_BYTES;
        *ret_length = size - FRAME_HEADER_BYTES;
        return 1;
    }

    int r = frame_size(reader, reader->input, reader->input_length, &size);
    if (r < 0)
        return r;
    if (!size || size > reader->input_length) {
        frame_keep(reader);
        return 0;
    }
    *ret_bytes = reader->input + FRAME_HEADER_BYTES;
    *ret_length = size - FRAME_HEADER_BYTES;
    reader->input += size;
    reader->input_length -= size;
    return 1;
}

void frame_keep(struct frame_reader *reader)
{
    drop_handed_out(reader);
    hold(reader, reader->input_length);
    reader->input = NULL;
}

bool frame_is_pending(const struct frame_reader *reader)
{
    return reader->held.length > reader->handed_out || reader->input_length;
}

int frame_append(struct buffer *buffer, const ProtobufCMessage *message, size_t limit)
{
    size_t length = protobuf_c_message_get_packed_size(message);
    if (length > limit || length > UINT32_MAX)
        return -EMSGSIZE;

    uint8_t *header = buffer_reserve(buffer, FRAME_HEADER_BYTES + length);
    length_write(header, length);
    protobuf_c_message_pack(message, header + FRAME_HEADER_BYTES);
    buffer_grow(buffer, FRAME_HEADER_BYTES + length);
    return 0;
}
