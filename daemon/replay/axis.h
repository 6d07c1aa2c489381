/* axis — where the marks of an axis are, and what is written at them. */
#ifndef WAFERD_REPLAY_AXIS_H
#define WAFERD_REPLAY_AXIS_H

#include <stdint.h>

#define AXIS_TEXT_SIZE 32

/* The distance of round marks, at most `most` of which lie on (0, length]: a time is marked at
 * seconds, minutes, hours or days, a count at 1, 2, 5, 10 .. */
int64_t axis_time_step_s(int64_t length_s, unsigned most);
int64_t axis_count_step(int64_t length, unsigned most);

int64_t axis_count_top(int64_t length, unsigned most); /* the mark at or above `length`, not 0 */

/* As the marks of a step are written, 0 to 90 min, not 0 to 1 h 30 min. */
void axis_time_format(int64_t time_s, int64_t step_s, char ret[static AXIS_TEXT_SIZE]);
void axis_count_format(int64_t count, char ret[static AXIS_TEXT_SIZE]); /* 295,540 */

/* Waits go from seconds to months. Their marks are 0, 1 min, 10 min, 1 h, 6 h .. at the same
 * distance, and what lies between two is in proportion. */
int64_t axis_wait_mark_s(unsigned mark);
unsigned
axis_wait_marks(int64_t most_s); /* the first mark that is not below `most_s`; at least 1 */
double axis_wait_position(double wait_s); /* 2.5: halfway between the second mark and the third */
void axis_wait_format(unsigned mark, char ret[static AXIS_TEXT_SIZE]);

#endif
