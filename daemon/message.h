/* message — small things that are done to messages of any type. */
#ifndef WAFERD_MESSAGE_H
#define WAFERD_MESSAGE_H

#include <stdbool.h>

#include "api.pb-c.h"

/* Freed with protobuf_c_message_free_unpacked(). */
ProtobufCMessage *message_copy(const ProtobufCMessage *message);

/* Whether a list that was asked for like this shows the job, whoever owns it. */
bool list_shows(const Wafer__ListRequest *request, const Wafer__Job *view);

#endif
