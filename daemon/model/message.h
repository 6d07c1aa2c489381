/* message — a copy of a message of any type. */
#ifndef WAFERD_MODEL_MESSAGE_H
#define WAFERD_MODEL_MESSAGE_H

#include <protobuf-c/protobuf-c.h>

/* Whatever the message borrows, the copy owns; freed with protobuf_c_message_free_unpacked(). */
ProtobufCMessage *message_copy(const ProtobufCMessage *message);

/* The same, as a pointer to the type of whoever takes it. */
#define MESSAGE_COPY(message) ((void *)message_copy(&(message)->base))

#endif
