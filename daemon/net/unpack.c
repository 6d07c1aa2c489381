#include "net/unpack.h"

#include <assert.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "model/limits.h"

/* ---- the allocator: real sizes, against a budget to which nothing comes back --------------- */

struct budget {
    size_t left_bytes;
    bool is_exhausted; /* something was refused */
};

static void *budget_allocate(void *data, size_t size)
{
    struct budget *budget = data;

    if (size > budget->left_bytes) {
        budget->is_exhausted = true;
        return NULL;
    }
    void *block = memory_resize(NULL, size, 1);
    size_t cost = malloc_usable_size(block);
    budget->left_bytes -= cost < budget->left_bytes ? cost : budget->left_bytes;
    return block;
}

static void budget_free(void *data, void *block)
{
    free(block);
}

/* ---- the check: one pass over the bytes, before protobuf-c sees them ------------------------- */

enum wire { WIRE_VARINT = 0, WIRE_64_BIT = 1, WIRE_TEXT = 2, WIRE_32_BIT = 5 };

struct span {
    const uint8_t *at, *end;
};

#define FIELDS_MAX 256 /* of one message type of ours */

struct seen {
    uint64_t bits[FIELDS_MAX / 64];
};

static bool seen_has(const struct seen *seen, size_t index)
{
    return seen->bits[index / 64] >> index % 64 & 1;
}

static bool read_varint(struct span *span, uint64_t *ret)
{
    uint64_t value = 0;

    for (unsigned shift = 0; span->at < span->end && shift < 64; shift += 7) {
        uint8_t byte = *span->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *ret = value;
            return true;
        }
    }
    return false;
}

static bool skip(struct span *span, uint64_t length)
{
    if (length > (size_t)(span->end - span->at))
        return false;
    span->at += length;
    return true;
}

/* The value of one field: its bytes, or for a varint its number. */
static bool read_value(struct span *span, unsigned wire, uint64_t *ret_number,
                       struct span *ret_text)
{
    *ret_number = 0;
    *ret_text = (struct span){ span->at, span->at };
    switch (wire) {
    case WIRE_VARINT: return read_varint(span, ret_number);
    case WIRE_64_BIT: return skip(span, 8);
    case WIRE_32_BIT: return skip(span, 4);
    case WIRE_TEXT:
        if (!read_varint(span, ret_number))
            return false;
        ret_text->at = span->at;
        if (!skip(span, *ret_number))
            return false;
        ret_text->end = span->at;
        return true;
    default: return false; /* groups are of no schema of ours */
    }
}

static bool is_text(struct span span)
{
    size_t length = (size_t)(span.end - span.at);

    return utf8_valid_length((const char *)span.at, length) == length &&
           !memchr(span.at, '\0', length);
}

static bool is_enum_value(const ProtobufCFieldDescriptor *field, uint64_t number)
{
    return protobuf_c_enum_descriptor_get_value(field->descriptor, (int)(int32_t)number) != NULL;
}

static bool is_enum_list(const ProtobufCFieldDescriptor *field, struct span span)
{
    uint64_t number;

    while (span.at < span.end)
        if (!read_varint(&span, &number) || !is_enum_value(field, number))
            return false;
    return true;
}

static const char *fault_of_enum(const ProtobufCFieldDescriptor *field, unsigned wire,
                                 uint64_t number, struct span text)
{
    bool known = wire == WIRE_TEXT ? is_enum_list(field, text) : is_enum_value(field, number);

    return known ? NULL : "a value that is not one of its enum";
}

/* Note `field` as given, or say why it may not be. */
static const char *fault_of_repetition(const ProtobufCMessageDescriptor *descriptor,
                                       const ProtobufCFieldDescriptor *field, struct seen *seen)
{
    size_t index = (size_t)(field - descriptor->fields);

    if (field->label == PROTOBUF_C_LABEL_REPEATED)
        return NULL;
    if (seen_has(seen, index))
        return "given twice";
    if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
        for (size_t i = 0; i < descriptor->n_fields; i++)
            if (seen_has(seen, i) && descriptor->fields[i].flags & PROTOBUF_C_FIELD_FLAG_ONEOF &&
                descriptor->fields[i].quantifier_offset == field->quantifier_offset)
                return "given beside another of the same choice";
    seen->bits[index / 64] |= UINT64_C(1) << index % 64;
    return NULL;
}

static const char *fault_of_message(const ProtobufCMessageDescriptor *descriptor, struct span span,
                                    unsigned depth, struct diag *path);

static const char *fault_of_field(const ProtobufCFieldDescriptor *field, unsigned wire,
                                  uint64_t number, struct span text, unsigned depth,
                                  struct diag *path)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_STRING:
        return wire != WIRE_TEXT || is_text(text) ? NULL : "a text that is not UTF-8, or holds NUL";
    case PROTOBUF_C_TYPE_ENUM: return fault_of_enum(field, wire, number, text);
    case PROTOBUF_C_TYPE_MESSAGE:
        return wire != WIRE_TEXT ? NULL
                                 : fault_of_message(field->descriptor, text, depth + 1, path);
    default: return NULL; /* a wrong wire type is left to protobuf-c */
    }
}

/* NULL, or what is wrong; then `path` names where, from the innermost field outwards. */
static const char *fault_of_message(const ProtobufCMessageDescriptor *descriptor, struct span span,
                                    unsigned depth, struct diag *path)
{
    struct seen seen = { 0 };

    assert(descriptor->n_fields <= FIELDS_MAX);
    if (depth > LIMIT_DEPTH)
        return "nested too deep";
    while (span.at < span.end) {
        uint64_t tag, number;
        struct span text;
        if (!read_varint(&span, &tag) || tag >> 3 == 0 || tag >> 3 > UINT32_MAX ||
            !read_value(&span, tag & 7, &number, &text))
            return "malformed bytes";
        const ProtobufCFieldDescriptor *field =
            protobuf_c_message_descriptor_get_field(descriptor, (unsigned)(tag >> 3));
        if (!field)
            continue;
        const char *fault = fault_of_repetition(descriptor, field, &seen);
        if (!fault)
            fault = fault_of_field(field, tag & 7, number, text, depth, path);
        if (fault) {
            char inner[DIAG_TEXT_MAX];
            memcpy(inner, path->text, sizeof(inner));
            diag_fail(path, 0, ".%s%s", field->name, inner);
            return fault;
        }
    }
    return NULL;
}

ProtobufCMessage *net_unpack(const ProtobufCMessageDescriptor *descriptor, const uint8_t *bytes,
                             size_t length, struct diag *diag)
{
    struct diag path = { "" };
    const char *fault =
        fault_of_message(descriptor, (struct span){ bytes, bytes + length }, 1, &path);
    if (fault) {
        diag_fail(diag, 0, "%s%s: %s", descriptor->short_name, path.text, fault);
        return NULL;
    }

    size_t limit_bytes = NET_UNPACK_BASE_BYTES + length * NET_UNPACK_MULTIPLE;
    struct budget budget = { .left_bytes = limit_bytes };
    ProtobufCAllocator allocator = { budget_allocate, budget_free, &budget };
    ProtobufCMessage *message = protobuf_c_message_unpack(descriptor, &allocator, length, bytes);
    if (!message && budget.is_exhausted)
        diag_fail(diag, 0, "%s: %zu bytes would unpack to more than %zu", descriptor->short_name,
                  length, limit_bytes);
    else if (!message)
        diag_fail(diag, 0, "%s: a required field is missing, or a field has another type",
                  descriptor->short_name);
    return message;
}
