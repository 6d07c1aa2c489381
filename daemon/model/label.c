#include "model/label.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"

static int refuse(const char *what, const char *word, const ProtobufCEnumDescriptor *type,
                  struct diag *diag)
{
    owned(buffer_done) struct buffer names = BUFFER_EMPTY;

    for (unsigned i = 0; i < type->n_values; i++)
        buffer_format(&names, "%s%s", i ? ", " : "", type->values[i].name);
    owned(free) char *text = buffer_text(&names);
    return diag_fail(diag, -EINVAL, "\"%.80s\" is not a %s (%s)", word, what, text);
}

int label_parse(const char *text, Wafer__Label *ret, struct diag *diag)
{
    owned(free) char *words = text_copy(text);
    char *rest = words;
    const char *word = strsep(&rest, "+");
    const ProtobufCEnumValue *value =
        protobuf_c_enum_descriptor_get_value_by_name(&wafer__label__level__descriptor, word);
    unsigned seen = 0;

    if (!value)
        return refuse("level", word, &wafer__label__level__descriptor, diag);
    int level = value->value;
    while ((word = strsep(&rest, "+"))) {
        value =
            protobuf_c_enum_descriptor_get_value_by_name(&wafer__label__category__descriptor, word);
        if (!value)
            return refuse("category", word, &wafer__label__category__descriptor, diag);
        if (seen & (1u << value->value))
            return diag_fail(diag, -EINVAL, "\"%.80s\" names %s twice", text, word);
        seen |= 1u << value->value;
    }

    ret->level = (Wafer__Label__Level)level;
    if (seen)
        ret->categories = memory_new((size_t)__builtin_popcount(seen) * sizeof(*ret->categories));
    for (unsigned i = 0; seen >> i; i++)
        if (seen & (1u << i))
            ret->categories[ret->n_categories++] = (Wafer__Label__Category)i;
    return 0;
}

static const char *name_of(const ProtobufCEnumDescriptor *type, int value)
{
    const ProtobufCEnumValue *found = protobuf_c_enum_descriptor_get_value(type, value);

    return found ? found->name : "?";
}

void label_format(const Wafer__Label *label, struct buffer *ret)
{
    buffer_append_text(ret, name_of(&wafer__label__level__descriptor, (int)label->level));
    for (size_t i = 0; i < label->n_categories; i++)
        buffer_format(ret, "+%s",
                      name_of(&wafer__label__category__descriptor, (int)label->categories[i]));
}
