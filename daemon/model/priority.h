/* priority — p0 to p3, which are 99, 199, 299 and 399: lower runs first. */
#ifndef WAFERD_MODEL_PRIORITY_H
#define WAFERD_MODEL_PRIORITY_H

#include <stdint.h>

#include "base/diag.h"

#define PRIORITY_OPERATOR  99 /* p0, which only an operator may give */
#define PRIORITY_DEFAULT   299
#define PRIORITY_TEXT_SIZE 12

int priority_parse(const char *text, uint32_t *ret, struct diag *diag); /* -EINVAL */
void priority_format(uint32_t priority, char ret[static PRIORITY_TEXT_SIZE]);

#endif
