/* label — how data may be handled: a level and categories, as "confidential+personal+ip". */
#ifndef WAFERD_MODEL_LABEL_H
#define WAFERD_MODEL_LABEL_H

#include "base/buffer.h"
#include "base/diag.h"
#include "value.pb-c.h"

/* Into a message that is initialised and empty. Categories may come in any order, each once; they
 * are kept in the order of the schema. -EINVAL */
int label_parse(const char *text, Wafer__Label *ret, struct diag *diag);
void label_format(const Wafer__Label *label, struct buffer *ret);

#endif
