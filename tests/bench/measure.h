/* measure — a clock, and what is left of many readings; shared by the programs of `make bench`.
 *
 * Each of them prints lines "name value", which main.sh puts together. */
#ifndef WAFERD_BENCH_MEASURE_H
#define WAFERD_BENCH_MEASURE_H

#include <stddef.h>

double now_s(void);

/* The value below which `percent` of them lie; sorts them. */
double percentile(double *values, size_t count, double percent);

/* A figure for main.sh. */
void tell(const char *name, double value);

/* Ends the process with a sentence: a measurement that failed is no figure. */
void give_up(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif
