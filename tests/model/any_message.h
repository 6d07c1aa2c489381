/* any_message — messages of any type with every kind of value, from a seed. */
#ifndef WAFERD_TESTS_MODEL_ANY_MESSAGE_H
#define WAFERD_TESTS_MODEL_ANY_MESSAGE_H

#include <protobuf-c/protobuf-c.h>

#include "base/random.h"

/* Valid, with about half of its optional keys set. Free with protobuf_c_message_free_unpacked(). */
ProtobufCMessage *any_message(const ProtobufCMessageDescriptor *type, struct random *random);

#endif
