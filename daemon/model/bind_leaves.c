#include "base/buffer.h"
#include "base/cleanup.h"
#include "model/bind.h"
#include "model/bind_field.h"
#include "model/bind_print.h"
#include "model/bind_text.h"
#include "value.pb-c.h"

struct walk {
    void (*each)(void *userdata, const char *path, const char *text);
    void *userdata;
};

static void walk_message(const struct walk *walk, const ProtobufCMessage *message,
                         const struct path *path);

static void tell(const struct walk *walk, const struct path *path, const char *text)
{
    owned(free) char *name = path_format(path);

    walk->each(walk->userdata, name ? name : "", text);
}

static void walk_value(const struct walk *walk, const ProtobufCFieldDescriptor *field,
                       const void *value, const struct path *path)
{
    owned(buffer_done) struct buffer buffer = BUFFER_EMPTY;

    if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
        const ProtobufCMessage *message = *(const ProtobufCMessage *const *)value;
        const struct bind_text *type = bind_text_find(field->descriptor);
        if (!type || !type->format(message, &buffer)) {
            walk_message(walk, message, path);
            return;
        }
    } else if (field->type == PROTOBUF_C_TYPE_STRING) {
        buffer_append_text(&buffer, *(const char *const *)value);
    } else if (field->type == PROTOBUF_C_TYPE_ENUM) {
        print_enum(&buffer, field->descriptor, *(const int *)value, false);
    } else {
        print_value(&buffer, field, value);
    }
    owned(free) char *text = buffer_text(&buffer);
    tell(walk, path, text);
}

static void walk_field(const struct walk *walk, const ProtobufCMessage *message,
                       const ProtobufCFieldDescriptor *field, const struct path *path)
{
    size_t count = field_count(message, field);

    if (field->label != PROTOBUF_C_LABEL_REPEATED) {
        walk_value(walk, field, field_element(message, field, 0), path);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const void *element = field_element(message, field, i);
        if (field_is_pairs(field)) {
            const Wafer__KeyValue *pair = *(const Wafer__KeyValue *const *)element;
            tell(walk, &(struct path){ .parent = path, .name = pair->key }, pair->value);
        } else {
            walk_value(walk, field, element, &(struct path){ .parent = path, .index = i });
        }
    }
}

static void walk_message(const struct walk *walk, const ProtobufCMessage *message,
                         const struct path *path)
{
    const ProtobufCMessageDescriptor *type = message->descriptor;

    for (unsigned i = 0; i < type->n_fields; i++)
        if (field_is_set(message, &type->fields[i]))
            walk_field(walk, message, &type->fields[i],
                       &(struct path){ .parent = path, .name = type->fields[i].name });
}

void bind_leaves(const ProtobufCMessage *message,
                 void (*each)(void *userdata, const char *path, const char *text), void *userdata)
{
    walk_message(&(struct walk){ each, userdata }, message, NULL);
}
