/* message — a message of any type: copied, compared. */
#ifndef WAFERD_MODEL_MESSAGE_H
#define WAFERD_MODEL_MESSAGE_H

#include <stdbool.h>

#include <protobuf-c/protobuf-c.h>

/* Whatever the message borrows, the copy owns; freed with protobuf_c_message_free_unpacked(). */
ProtobufCMessage *message_copy(const ProtobufCMessage *message);

/* Whether two messages of one type say the same. */
bool message_is_equal(const ProtobufCMessage *a, const ProtobufCMessage *b);

/* A copy, as a pointer to the type of whoever takes it. */
#define MESSAGE_COPY(message) ((void *)message_copy(&(message)->base))

#endif
