/* loop_watch — how long the loop of waferd is away at most: loop_watch.so is preloaded into it and
 * writes here, into the file that BENCH_LOOP_FILE names. */
#ifndef WAFERD_BENCH_LOOP_WATCH_H
#define WAFERD_BENCH_LOOP_WATCH_H

#include <stdint.h>

/* From one wait for events to the next. A busy machine makes `longest_us` long: the loop may want
 * to run and not be let. `longest_cpu_us` is what it used of the processor. */
struct loop_watch {
    volatile uint64_t longest_us, longest_cpu_us, turns;
};

#endif
