/* reserve — room on the disk that is given up when the disk is full, so that cancel and release
 * can still be journaled. */
#ifndef WAFERD_STORE_RESERVE_H
#define WAFERD_STORE_RESERVE_H

#include <stdbool.h>

struct reserve {
    char *path; /* DIR/reserve */
    bool held;
};

void reserve_init(struct reserve *reserve, const char *dir);
void reserve_done(struct reserve *reserve); /* the file stays */

/* Make sure that the room is there; false while the disk is too full. To be had again after it was
 * released there must be as much room beside it: else the next commit would need it at once. */
bool reserve_hold(struct reserve *reserve);
void reserve_release(struct reserve *reserve);

#endif
