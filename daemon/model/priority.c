#include "model/priority.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

int priority_parse(const char *text, uint32_t *ret, struct diag *diag)
{
    if (text[0] != 'p' || text[1] < '0' || text[1] > '3' || text[2])
        return diag_fail(diag, -EINVAL, "\"%s\" is not a priority (p1, p2, p3; p0 for operators)",
                         text);
    *ret = (uint32_t)(text[1] - '0') * 100 + 99;
    return 0;
}

void priority_format(uint32_t priority, char ret[static PRIORITY_TEXT_SIZE])
{
    if (priority % 100 == 99 && priority < 400)
        snprintf(ret, PRIORITY_TEXT_SIZE, "p%" PRIu32, priority / 100);
    else
        snprintf(ret, PRIORITY_TEXT_SIZE, "%" PRIu32, priority);
}
