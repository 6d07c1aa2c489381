/* pager — long output to a terminal goes through $PAGER, as people are used to.
 *
 * Without one that can be found it goes to the terminal; an empty PAGER, or cat, asks for that.
 * What the pager does changes neither what is printed nor how wafer ends: who has seen enough
 * leaves. */
#ifndef WAFERD_CLI_PAGER_H
#define WAFERD_CLI_PAGER_H

#include "cli/command.h"

/* From here on standard output is read by the pager, if the verb may print much and a terminal is
 * to have it. */
void pager_begin(struct command *command);
bool pager_reads(void);
/* Nothing more comes; wait until it was read. */
void pager_end(void);

#endif
