#include "model/bind_text.h"

#include <string.h>

#include "base/decimal.h"
#include "base/duration.h"
#include "base/memory.h"
#include "base/size.h"
#include "base/timestamp.h"
#include "job.pb-c.h"
#include "model/label.h"
#include "model/limits.h"
#include "model/priority.h"
#include "value.pb-c.h"

static int parse_duration(const char *text, ProtobufCMessage *ret, struct diag *diag)
{
    return duration_parse(text, &((Wafer__Duration *)ret)->us, diag);
}

static bool format_duration(const ProtobufCMessage *message, struct buffer *ret)
{
    char text[DURATION_TEXT_SIZE];

    duration_format(((const Wafer__Duration *)message)->us, text);
    buffer_append_text(ret, text);
    return true;
}

static int parse_size(const char *text, ProtobufCMessage *ret, struct diag *diag)
{
    return size_parse(text, &((Wafer__Size *)ret)->bytes, diag);
}

static bool format_size(const ProtobufCMessage *message, struct buffer *ret)
{
    char text[SIZE_TEXT_SIZE];

    size_format(((const Wafer__Size *)message)->bytes, text);
    buffer_append_text(ret, text);
    return true;
}

static int parse_time(const char *text, ProtobufCMessage *ret, struct diag *diag)
{
    return timestamp_parse(text, &((Wafer__Time *)ret)->us, diag);
}

static bool format_time(const ProtobufCMessage *message, struct buffer *ret)
{
    char text[TIMESTAMP_TEXT_SIZE];

    timestamp_format(((const Wafer__Time *)message)->us, text);
    buffer_append_text(ret, text);
    return true;
}

static int parse_money(const char *text, ProtobufCMessage *ret, struct diag *diag)
{
    Wafer__Money *money = (Wafer__Money *)ret;
    char currency[CURRENCY_TEXT_SIZE];
    int r = money_parse(text, &money->micro, currency, diag);

    if (r < 0)
        return r;
    money->currency = text_copy(currency);
    return 0;
}

static bool format_money(const ProtobufCMessage *message, struct buffer *ret)
{
    const Wafer__Money *money = (const Wafer__Money *)message;
    char text[MONEY_TEXT_SIZE];

    money_format(money->micro, money->currency, text);
    buffer_append_text(ret, text);
    if (strlen(money->currency) >=
        CURRENCY_TEXT_SIZE) /* not ours: bind_check() must see all of it */
        buffer_append_text(ret, money->currency + CURRENCY_TEXT_SIZE - 1);
    return true;
}

static int parse_count(const char *text, ProtobufCMessage *ret, struct diag *diag)
{
    return count_parse(text, &((Wafer__Count *)ret)->value, diag);
}

static bool format_count(const ProtobufCMessage *message, struct buffer *ret)
{
    char text[DECIMAL_TEXT_SIZE];

    count_format(((const Wafer__Count *)message)->value, text);
    buffer_append_text(ret, text);
    return true;
}

static int parse_decimal(const char *text, ProtobufCMessage *ret, struct diag *diag)
{
    return decimal_parse(text, &((Wafer__Decimal *)ret)->micro, diag);
}

static bool format_decimal(const ProtobufCMessage *message, struct buffer *ret)
{
    char text[DECIMAL_TEXT_SIZE];

    decimal_format(((const Wafer__Decimal *)message)->micro, text);
    buffer_append_text(ret, text);
    return true;
}

static int parse_priority(const char *text, ProtobufCMessage *ret, struct diag *diag)
{
    return priority_parse(text, &((Wafer__Priority *)ret)->value, diag);
}

static bool format_priority(const ProtobufCMessage *message, struct buffer *ret)
{
    char text[PRIORITY_TEXT_SIZE];

    priority_format(((const Wafer__Priority *)message)->value, text);
    buffer_append_text(ret, text);
    return true;
}

static int parse_label(const char *text, ProtobufCMessage *ret, struct diag *diag)
{
    return label_parse(text, (Wafer__Label *)ret, diag);
}

static bool format_label(const ProtobufCMessage *message, struct buffer *ret)
{
    label_format((const Wafer__Label *)message, ret);
    return true;
}

static int parse_cadence(const char *text, ProtobufCMessage *ret, struct diag *diag)
{
    Wafer__Cadence *cadence = (Wafer__Cadence *)ret;
    int64_t us;

    if (strcmp(text, "auto") == 0) {
        cadence->has_auto_ = true;
        cadence->auto_ = true;
        return 0;
    }
    int r = duration_parse(text, &us, diag);
    if (r < 0)
        return r;
    cadence->time = NEW(Wafer__Duration);
    wafer__duration__init(cadence->time);
    cadence->time->us = us;
    return 0;
}

static bool format_cadence(const ProtobufCMessage *message, struct buffer *ret)
{
    const Wafer__Cadence *cadence = (const Wafer__Cadence *)message;
    bool is_auto = cadence->has_auto_ && cadence->auto_;

    if (cadence->steps || cadence->has_auto_ != is_auto || is_auto == !!cadence->time)
        return false;
    if (is_auto)
        buffer_append_text(ret, "auto");
    else
        format_duration(&cadence->time->base, ret);
    return true;
}

static const struct bind_text texts[] = {
    { &wafer__duration__descriptor, "a duration like 90m", .parse = parse_duration,
      .format = format_duration },
    { &wafer__size__descriptor, "a size like 1.5T", .parse = parse_size, .format = format_size },
    { &wafer__time__descriptor, "a time like 2026-02-01T08:00:00+01:00", .parse = parse_time,
      .format = format_time },
    { &wafer__money__descriptor, "an amount like 900.00 EUR", .parse = parse_money,
      .format = format_money },
    { &wafer__count__descriptor, "a count like 24334 or 26.3e9", .is_number = true,
      .parse = parse_count, .format = format_count },
    { &wafer__decimal__descriptor, "a number like 2.30", .is_number = true, .parse = parse_decimal,
      .format = format_decimal },
    { &wafer__priority__descriptor, "a priority like p2", .parse = parse_priority,
      .format = format_priority },
    { &wafer__label__descriptor, "a label like internal+personal", .parse = parse_label,
      .format = format_label },
    { &wafer__cadence__descriptor, "auto, a duration, or {steps, time}", .or_mapping = true,
      .parse = parse_cadence, .format = format_cadence },
};

const struct bind_text *bind_text_find(const ProtobufCMessageDescriptor *type)
{
    for (size_t i = 0; i < ELEMENTS(texts); i++)
        if (texts[i].type == type)
            return &texts[i];
    return NULL;
}

size_t bind_text_limit(const ProtobufCMessageDescriptor *type, const char *key)
{
    static const struct {
        const ProtobufCMessageDescriptor *type;
        const char *key;
        size_t limit;
    } limits[] = {
        { &wafer__program__descriptor, "script", LIMIT_SCRIPT_BYTES },
        { &wafer__program__descriptor, "env", LIMIT_ENV_VALUE_BYTES },
    };

    for (size_t i = 0; i < ELEMENTS(limits); i++)
        if (limits[i].type == type && strcmp(limits[i].key, key) == 0)
            return limits[i].limit;
    return LIMIT_STRING_BYTES;
}
