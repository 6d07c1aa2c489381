#include "model/job_name.h"

#include <string.h>

#include "model/limits.h"

bool job_name_is_valid(const char *name)
{
    size_t length = strlen(name);

    return length <= LIMIT_NAME_BYTES && strspn(name, NAME_CHARACTERS) == length &&
           strspn(name, "._-") < length;
}
