/* platforms — platform files, read for the pools of one process. */
#ifndef WAFERD_SIM_PLATFORMS_H
#define WAFERD_SIM_PLATFORMS_H

#include "base/buffer.h"
#include "base/diag.h"
#include "platform.pb-c.h"

/* Read <directory>/<name>.yaml. Free with wafer__platform__free_unpacked().
 * -EINVAL and others, with one line for each thing that is wrong in `errors` */
int platform_read(const char *directory, const char *name, Wafer__Platform **ret,
                  struct buffer *errors);

#endif
