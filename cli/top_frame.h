/* top_frame — what `wafer top` shows, as text: systems, queues, jobs. */
#ifndef WAFERD_CLI_TOP_FRAME_H
#define WAFERD_CLI_TOP_FRAME_H

#include "cli/command.h"
#include "view.pb-c.h"

enum top_sort { TOP_BY_STATE, TOP_BY_NAME, TOP_BY_PROGRESS, TOP_BY_TIME, TOP_BY_ID, TOP_SORTS };

struct top_view {
    const char *queue; /* only jobs of this one; NULL: all */
    enum top_sort sort;
    bool descends;
    bool selects; /* there is a marker, and room for it */
    size_t selected;
    size_t rows; /* lines that fit; 0: any number */
};

/* The jobs of the view, in its order: the list holds them first, and `ret` of them. */
void top_frame_choose(const struct top_view *view, Wafer__JobList *jobs, size_t *ret);

/* The queues that jobs are in, by name. The caller frees the array. */
const char **top_frame_queues(const Wafer__JobList *jobs, size_t *ret_count);

/* The first `count` jobs of the list are shown, as far as they fit; the one that is selected always
 * is. The caller frees. */
char *top_frame_text(const struct command *command, const struct top_view *view,
                     const Wafer__JobList *jobs, size_t count, const Wafer__SystemList *systems);

#endif
