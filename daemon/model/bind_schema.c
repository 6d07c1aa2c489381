#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "model/bind.h"
#include "model/bind_field.h"
#include "model/bind_text.h"
#include "value.pb-c.h"

struct schema {
    enum bind_schema kind;
    json_t *types; /* $defs */
};

static json_t *type_of(const char *type)
{
    return json_pack("{s:s}", "type", type);
}

/* Of a file every value is a text first, however a reader of YAML would take it. */
static json_t *type_or_text(const struct schema *schema, const char *type)
{
    return schema->kind == BIND_SCHEMA_FILE ? json_pack("{s:[ss]}", "type", type, "string")
                                            : type_of(type);
}

static json_t *text(const struct schema *schema)
{
    return schema->kind == BIND_SCHEMA_FILE
               ? json_pack("{s:[sss]}", "type", "string", "number", "boolean")
               : type_of("string");
}

static json_t *enum_of(const ProtobufCEnumDescriptor *type)
{
    json_t *names = json_array();

    for (unsigned i = 0; i < type->n_values; i++)
        json_array_append_new(names, json_string(type->values[i].name));
    return json_pack("{s:o}", "enum", names);
}

static json_t *reference(struct schema *schema, const ProtobufCMessageDescriptor *type);

static json_t *text_message(struct schema *schema, const struct bind_text *type)
{
    json_t *json;

    /* What is larger than readers of JSON keep goes as a text. */
    if (type->is_number)
        json = json_pack("{s:[ss]}", "type", "number", "string");
    else if (type->or_mapping)
        json = json_pack("{s:[oo]}", "anyOf", type_of("string"), reference(schema, type->type));
    else
        json = type_of("string");
    json_object_set_new(json, "description", json_string(type->wants));
    if (type->type == &wafer__time__descriptor)
        json_object_set_new(json, "format", json_string("date-time"));
    return json;
}

static json_t *value(struct schema *schema, const ProtobufCFieldDescriptor *field)
{
    switch (field->type) { /* no default: a new type makes the compiler point here */
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32: return type_or_text(schema, "integer");
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64: return json_pack("{s:[ss]}", "type", "integer", "string");
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_DOUBLE: return type_or_text(schema, "number");
    case PROTOBUF_C_TYPE_BOOL: return type_or_text(schema, "boolean");
    case PROTOBUF_C_TYPE_ENUM: return enum_of(field->descriptor);
    case PROTOBUF_C_TYPE_STRING: return text(schema);
    case PROTOBUF_C_TYPE_BYTES:
        return json_pack("{s:s, s:s}", "type", "string", "pattern", "^([0-9a-f]{2})*$");
    case PROTOBUF_C_TYPE_MESSAGE: break;
    }
    const struct bind_text *type = bind_text_find(field->descriptor);
    return type ? text_message(schema, type) : reference(schema, field->descriptor);
}

static json_t *or_null(json_t *json)
{
    json_t *type = json_object_get(json, "type"), *names = json_object_get(json, "enum");

    if (names) {
        json_array_append_new(names, json_null());
        return json;
    }
    if (json_is_array(type)) {
        json_array_append_new(type, json_string("null"));
        return json;
    }
    if (type) {
        json_object_set_new(json, "type", json_pack("[Os]", type, "null"));
        return json;
    }
    return json_pack("{s:[oo]}", "anyOf", json, type_of("null"));
}

static json_t *property(struct schema *schema, const ProtobufCFieldDescriptor *field)
{
    if (field_is_pairs(field))
        return json_pack("{s:s, s:o}", "type", "object", "additionalProperties", text(schema));
    if (field->label == PROTOBUF_C_LABEL_REPEATED)
        return json_pack("{s:s, s:o}", "type", "array", "items", value(schema, field));
    json_t *json = value(schema, field);
    return field->label == PROTOBUF_C_LABEL_REQUIRED ? json : or_null(json);
}

/* What is printed has every key; what is written in a file, those that are required, and no other
 * than these. */
static json_t *object(struct schema *schema, const ProtobufCMessageDescriptor *type)
{
    json_t *properties = json_object(), *required = json_array();
    bool is_file = schema->kind == BIND_SCHEMA_FILE;

    for (unsigned i = 0; i < type->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &type->fields[i];

        json_object_set_new(properties, field->name, property(schema, field));
        if (!is_file || field->label == PROTOBUF_C_LABEL_REQUIRED)
            json_array_append_new(required, json_string(field->name));
    }
    json_t *json = json_pack("{s:s, s:o, s:o}", "type", "object", "properties", properties,
                             "required", required);
    if (is_file)
        json_object_set_new(json, "additionalProperties", json_false());
    return json;
}

static json_t *reference(struct schema *schema, const ProtobufCMessageDescriptor *type)
{
    owned(free) char *path = text_format("#/$defs/%s", type->name);

    if (!json_object_get(schema->types, type->name)) {
        /* Named before it is made, so that a type may hold itself. */
        json_object_set_new(schema->types, type->name, json_object());
        json_object_set_new(schema->types, type->name, object(schema, type));
    }
    return json_pack("{s:s}", "$ref", path);
}

json_t *bind_schema(const ProtobufCMessageDescriptor *type, enum bind_schema kind,
                    const char *const *constants)
{
    struct schema schema = { .kind = kind, .types = json_object() };
    json_t *json = json_pack("{s:s}", "$schema", "https://json-schema.org/draft/2020-12/schema");
    json_t *whole = object(&schema, type);

    for (; *constants; constants += 2)
        json_object_set_new(json_object_get(whole, "properties"), constants[0],
                            json_pack("{s:s}", "const", constants[1]));
    json_object_update(json, whole);
    json_decref(whole);
    if (json_object_size(schema.types))
        json_object_set(json, "$defs", schema.types);
    json_decref(schema.types);
    return json;
}
