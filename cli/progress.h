/* progress — a job as somebody follows it: a line for each change, and on a terminal below those
 * lines a block that is drawn again with every view. Both go to stderr. */
#ifndef WAFERD_CLI_PROGRESS_H
#define WAFERD_CLI_PROGRESS_H

#include "cli/command.h"
#include "view.pb-c.h"

struct progress {
    const struct command *command;
    bool is_live;
    unsigned drawn; /* lines of the block that are on the screen */
};

/* `job_count`: only a single job gets a block. */
void progress_init(struct progress *progress, const struct command *command, size_t job_count);

/* A new view of a job; `before` is the one before it, or NULL. */
void progress_show(struct progress *progress, const Wafer__Job *before, const Wafer__Job *job);

/* Before something else is told on stderr. */
void progress_erase(struct progress *progress);

/* What has changed, a line each, not yet made safe to show; "" for nothing. Of the steps, each
 * tenth is told `with_steps`. The caller frees. */
char *progress_changes(const Wafer__Job *before, const Wafer__Job *job, bool with_steps);

#endif
