/* list_filter — what a list that was asked for shows. */
#ifndef WAFERD_LIST_FILTER_H
#define WAFERD_LIST_FILTER_H

#include <stdbool.h>

#include "api.pb-c.h"

/* Whether a list that was asked for like this shows the job, whoever owns it. */
bool list_shows(const Wafer__ListRequest *request, const Wafer__Job *view);

#endif
