#include <assert.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "model/bind.h"

static char *text_of(const json_t *value)
{
    if (json_is_null(value))
        return text_copy("default");
    if (json_is_string(value))
        return text_copy(json_string_value(value));
    return json_dumps(value, JSON_ENCODE_ANY);
}

static bool is_scalar(const json_t *value)
{
    return !json_is_array(value) && !json_is_object(value);
}

void bind_differ(const ProtobufCMessage *from, const ProtobufCMessage *to, bind_differ_fn differ,
                 void *userdata)
{
    json_t *before = bind_json(from), *after = bind_json(to), *value;
    const char *key;

    assert(from->descriptor == to->descriptor);
    json_object_foreach (before, key, value) {
        const json_t *other = json_object_get(after, key);
        if (json_equal(value, other))
            continue;
        bool are_scalars = is_scalar(value) && is_scalar(other);
        owned(free) char *old_text = are_scalars ? text_of(value) : NULL;
        owned(free) char *new_text = are_scalars ? text_of(other) : NULL;
        differ(userdata, key, old_text, new_text);
    }
    json_decref(before);
    json_decref(after);
}
