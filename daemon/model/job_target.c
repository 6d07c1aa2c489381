#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/number.h"
#include "model/job.h"
#include "model/job_name.h"
#include "model/limits.h"

#define ID_MAX ((uint64_t)INT64_MAX)

/* A whole number of at least `min` at the start of `text`; returns what follows, or NULL. */
static const char *scan(const char *text, uint64_t min, uint64_t max, uint64_t *ret)
{
    char digits[20];
    size_t length = text ? strspn(text, "0123456789") : 0;

    if (length == 0 || length >= sizeof(digits))
        return NULL;
    memcpy(digits, text, length);
    digits[length] = '\0';
    if (number_parse_whole(digits, max, ret) < 0 || *ret < min)
        return NULL;
    return text + length;
}

/* What has digits, dots and underscores alone is an id: "17_" is a mistake and not a name. */
static int parse_id(const char *text, Wafer__Target *target)
{
    uint64_t number;
    const char *p = scan(text, 1, ID_MAX, &number);

    if (!p)
        return -EINVAL;
    target->has_job = true;
    target->job = number;
    if (*p == '_') {
        p = scan(p + 1, 0, UINT32_MAX, &number);
        target->has_index = true;
        target->index = (uint32_t)number;
    }
    if (p && *p == '.') {
        p = scan(p + 1, 1, UINT32_MAX, &number);
        target->has_attempt = true;
        target->attempt = (uint32_t)number;
    }
    return p && !*p ? 0 : -EINVAL;
}

int job_target_parse(const char *text, Wafer__Target *ret)
{
    Wafer__Target target = WAFER__TARGET__INIT;

    if (text[strspn(text, "0123456789._")] == '\0') {
        int r = parse_id(text, &target);
        if (r < 0)
            return r;
    } else {
        if (!job_name_is_valid(text))
            return -EINVAL;
        target.name = (char *)text;
    }
    *ret = target;
    return 0;
}

int checkpoint_target_parse(const char *text, uint64_t *ret_job, uint64_t *ret_step,
                            uint64_t *ret_epoch)
{
    uint64_t job, step, epoch = 0;
    const char *p = scan(text, 1, ID_MAX, &job);

    p = p && *p == '@' ? scan(p + 1, 0, ID_MAX, &step) : NULL;
    if (p && *p == '.')
        p = scan(p + 1, 1, ID_MAX, &epoch);
    if (!p || *p)
        return -EINVAL;
    *ret_job = job;
    *ret_step = step;
    *ret_epoch = epoch;
    return 0;
}

int job_array_parse(const char *text, uint32_t *ret_first, uint32_t *ret_last,
                    uint32_t *ret_parallel)
{
    uint64_t first, last, parallel = 0;
    const char *p = scan(text, 0, UINT32_MAX - 1, &first);

    p = p && *p == '-' ? scan(p + 1, 0, UINT32_MAX - 1, &last) : NULL;
    if (p && *p == '%')
        p = scan(p + 1, 1, UINT32_MAX, &parallel);
    if (!p || *p || last < first || last - first >= LIMIT_ARRAY_ELEMENTS)
        return -EINVAL;
    *ret_first = (uint32_t)first;
    *ret_last = (uint32_t)last;
    *ret_parallel = (uint32_t)parallel;
    return 0;
}
