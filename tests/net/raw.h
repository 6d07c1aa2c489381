/* raw — the far end of a connection by hand, so that a test can do what no client of ours does. */
#ifndef WAFERD_TESTS_NET_RAW_H
#define WAFERD_TESTS_NET_RAW_H

#include <check.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api.pb-c.h"
#include "base/buffer.h"
#include "net/frame.h"
#include "net/hello.h"

static inline void raw_send(int fd, const void *bytes, size_t length)
{
    ck_assert_int_eq(send(fd, bytes, length, MSG_NOSIGNAL), (ssize_t)length);
}

static inline void raw_send_message(int fd, const ProtobufCMessage *message)
{
    struct buffer out = BUFFER_EMPTY;

    ck_assert_int_eq(frame_append(&out, message, SIZE_MAX), 0);
    raw_send(fd, buffer_data(&out), out.length);
    buffer_done(&out);
}

static inline void raw_send_hello(int fd, uint32_t magic, uint32_t major, uint32_t minor,
                                  const char *program)
{
    Wafer__Hello hello = WAFER__HELLO__INIT;

    hello.magic = magic;
    hello.major = major;
    hello.minor = minor;
    hello.program = (char *)program;
    raw_send_message(fd, &hello.base);
}

static inline void raw_greet(int fd)
{
    raw_send_hello(fd, NET_MAGIC, NET_MAJOR, NET_MINOR, "raw 0.1.0");
}

/* A small request: VersionRequest under `id`. */
static inline void raw_append_request(struct buffer *out, uint64_t id)
{
    Wafer__VersionRequest version = WAFER__VERSION_REQUEST__INIT;
    Wafer__Request request = WAFER__REQUEST__INIT;

    request.id = id;
    request.body_case = WAFER__REQUEST__BODY_VERSION;
    request.version = &version;
    ck_assert_int_eq(frame_append(out, &request.base, SIZE_MAX), 0);
}

static inline void raw_send_request(int fd, uint64_t id)
{
    struct buffer out = BUFFER_EMPTY;

    raw_append_request(&out, id);
    raw_send(fd, buffer_data(&out), out.length);
    buffer_done(&out);
}

/* Whatever has arrived, without waiting; whether more can come. */
static inline bool raw_drain(int fd, struct buffer *in)
{
    for (;;) {
        ssize_t n = recv(fd, buffer_reserve(in, 4096), 4096, MSG_DONTWAIT);
        if (n > 0)
            buffer_grow(in, (size_t)n);
        else
            return n < 0 && errno == EAGAIN;
    }
}

/* The next frame of what was drained, unpacked; NULL: there is none. */
static inline ProtobufCMessage *raw_take(struct buffer *in,
                                         const ProtobufCMessageDescriptor *descriptor)
{
    const uint8_t *at = buffer_data(in);
    if (in->length < 4)
        return NULL;
    size_t length = (size_t)at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16 | (size_t)at[3] << 24;
    if (in->length < 4 + length)
        return NULL;
    ProtobufCMessage *message = protobuf_c_message_unpack(descriptor, NULL, length, at + 4);
    ck_assert_ptr_nonnull(message);
    buffer_take(in, 4 + length);
    return message;
}

#endif
