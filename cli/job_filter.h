/* job_filter — what of a list of jobs is shown, and in which order, where the controller does not
 * choose: --label, --since, --sort, and --limit after them. */
#ifndef WAFERD_CLI_JOB_FILTER_H
#define WAFERD_CLI_JOB_FILTER_H

#include "api.pb-c.h"
#include "cli/command.h"
#include "cli/item_key.h"
#include "cli/moment.h"

struct job_filter {
    const char *const *labels; /* KEY=VALUE */
    size_t label_count;
    struct moment since;
    bool sorts, descends;
    struct item_key key;
    uint64_t limit; /* UINT64_MAX: all that came */
};

/* Also what the request must ask for, so that there is enough to choose from. */
int job_filter_read(const struct command *command, struct job_filter *ret,
                    Wafer__ListRequest *request);
void job_filter_done(struct job_filter *filter);
static inline void job_filter_donep(struct job_filter *filter)
{
    job_filter_done(filter);
}

/* Jobs are chosen or put in order here, by whatever a job has. */
bool job_filter_is_given(const struct job_filter *filter);

bool job_filter_shows(const struct job_filter *filter, const Wafer__Job *job,
                      const Wafer__Time *now);
void job_filter_sort(const struct job_filter *filter, Wafer__Job **jobs, size_t count);

/* Leave in the list what is shown, in order; its total is what there would be without the limit. */
void job_filter_apply(const struct command *command, const struct job_filter *filter,
                      Wafer__JobList *list);

#endif
