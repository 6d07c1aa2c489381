#include "model/message.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"

ProtobufCMessage *message_copy(const ProtobufCMessage *message)
{
    uint8_t small[2048]; /* most fit */
    size_t length = protobuf_c_message_get_packed_size(message);
    uint8_t *packed = length <= sizeof(small) ? small : memory_resize(NULL, length, 1);

    protobuf_c_message_pack(message, packed);
    ProtobufCMessage *copy = protobuf_c_message_unpack(message->descriptor, NULL, length, packed);
    assert(copy);
    if (packed != small)
        free(packed);
    return copy;
}

bool message_is_equal(const ProtobufCMessage *a, const ProtobufCMessage *b)
{
    size_t length = protobuf_c_message_get_packed_size(a);

    if (a->descriptor != b->descriptor || protobuf_c_message_get_packed_size(b) != length)
        return false;
    owned(free) uint8_t *packed = memory_new(2 * length);
    protobuf_c_message_pack(a, packed);
    protobuf_c_message_pack(b, packed + length);
    return memcmp(packed, packed + length, length) == 0;
}
