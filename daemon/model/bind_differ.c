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
    return json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
}

void bind_differ(const ProtobufCMessage *from, const ProtobufCMessage *to, bind_differ_fn differ,
                 void *userdata)
{
    json_t *before = bind_json(from), *after = bind_json(to), *value;
    const char *key;

    assert(from->descriptor == to->descriptor);
    json_object_foreach(before, key, value)
    {
        const json_t *other = json_object_get(after, key);
        if (json_equal(value, other))
            continue;
        owned(free) char *old_text = text_of(value);
        owned(free) char *new_text = text_of(other);
        differ(userdata, key, old_text, new_text);
    }
    json_decref(before);
    json_decref(after);
}
