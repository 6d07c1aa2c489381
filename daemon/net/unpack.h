/* unpack — a message out of bytes that nobody vouches for.
 *
 * Pure. Costs at most a multiple of the bytes in memory (NET_UNPACK_MULTIPLE times the length plus
 * NET_UNPACK_BASE_BYTES, whatever their nesting) and time in proportion to them. Stricter than
 * protobuf, and than every encoder needs:
 *   - texts are UTF-8 without NUL, which C would take for their end;
 *   - enum values are ones that the schema knows, so that tables can be indexed with them;
 *   - what is not repeated comes once, and one member of a oneof: merging costs quadratic time;
 *   - messages nest LIMIT_DEPTH deep at most.
 * Fields that the schema does not know are allowed: the peer may be one minor ahead. */
#ifndef WAFERD_NET_UNPACK_H
#define WAFERD_NET_UNPACK_H

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

#define NET_UNPACK_MULTIPLE   32
#define NET_UNPACK_BASE_BYTES (64 << 10)

/* A message that is freed with protobuf_c_message_free_unpacked(message, NULL), or NULL and a
 * sentence that names the field: the bytes deserve -EPROTO. */
ProtobufCMessage *net_unpack(const ProtobufCMessageDescriptor *descriptor, const uint8_t *bytes,
                             size_t length, struct diag *diag);

#endif
