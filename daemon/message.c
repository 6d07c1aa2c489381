#include "message.h"

#include <assert.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"

ProtobufCMessage *message_copy(const ProtobufCMessage *message)
{
    size_t length = protobuf_c_message_get_packed_size(message);
    owned(free) uint8_t *packed = memory_new(length + 1);

    protobuf_c_message_pack(message, packed);
    ProtobufCMessage *copy = protobuf_c_message_unpack(message->descriptor, NULL, length, packed);
    assert(copy);
    return copy;
}

bool list_shows(const Wafer__ListRequest *request, const Wafer__Job *view)
{
    bool state_fits = request->n_states == 0;

    for (size_t i = 0; i < request->n_states; i++)
        state_fits |= view->has_state && request->states[i] == view->state;
    return state_fits &&
           (!request->queue || (view->queue && strcmp(request->queue, view->queue) == 0));
}
