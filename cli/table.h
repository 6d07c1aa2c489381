/* table — rows of cells in columns that fit the screen.
 *
 * A column that may be cut gives way first, down to its minimum; when that is not enough, whole
 * columns go, the one with the highest `drop` first. Empty cells show '-'. */
#ifndef WAFERD_CLI_TABLE_H
#define WAFERD_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "cli/screen.h"

struct column {
    const char *title;
    unsigned minimum; /* cells that a cut leaves; 0: never cut */
    unsigned drop;    /* 0: always shown */
    bool right;       /* numbers */
};

struct table;

/* `columns` and `screen` must outlive the table. */
struct table *table_new(const struct column *columns, size_t count, const struct screen *screen);
struct table *table_free(struct table *table); /* always NULL */
OWNED_DEFINE(table_free, struct table *);

/* The next cell, in the order of the columns; NULL and "" are shown as '-'. The text may hold
 * anything: it is made safe to show. */
void table_cell(struct table *table, enum style style, const char *text);
/* A cell of several texts; the last argument is NULL. A long list does without printf. */
void table_join(struct table *table, enum style style, ...) __attribute__((sentinel));
void table_format(struct table *table, enum style style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void table_print(const struct table *table, bool header);

#endif
