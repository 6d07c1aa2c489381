/* notices — what of the messages an operator wants to read in the log. */
#ifndef WAFERD_SIM_NOTICES_H
#define WAFERD_SIM_NOTICES_H

#include "agent.pb-c.h"

struct notices;

struct notices *notices_new(void);
struct notices *notices_free(struct notices *notices); /* always NULL */

void notices_order(struct notices *notices, const Wafer__ToAgent *order);
void notices_message(struct notices *notices, const Wafer__ToController *message);

#endif
