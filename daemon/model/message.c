#include "model/message.h"

#include <assert.h>
#include <stdlib.h>

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
