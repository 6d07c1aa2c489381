/* scenario — drives the core by lines of text on a pretend clock, and says in text what follows.
 *
 * A line is `TIME VERB key=value ...`; the verbs are in the table of scenario.c. After every input
 * the invariants are checked and a second core, which replays the records alone, must hash equal.
 *
 * Ownership  scenario_free() frees it; scenario_run() lends its answer until the next call */
#ifndef WAFERD_TESTS_CORE_SCENARIO_H
#define WAFERD_TESTS_CORE_SCENARIO_H

struct scenario;

struct scenario *scenario_new(void);
struct scenario *scenario_free(struct scenario *scenario); /* always NULL */

/* Feed one line; all records and effects that follow, one a line, indented. */
const char *scenario_run(struct scenario *scenario, const char *line);

/* Save the state, load it into a new core, and compare. */
void scenario_check_snapshot(struct scenario *scenario);

#endif
