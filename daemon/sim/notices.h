/* notices — what of the messages an operator wants to read in the log. */
#ifndef WAFERD_SIM_NOTICES_H
#define WAFERD_SIM_NOTICES_H

#include "agent.pb-c.h"

void notice_order(const Wafer__ToAgent *order);
void notice_message(const Wafer__ToController *message);

#endif
