#include "cli/table.h"

#include <assert.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "cli/text.h"

#define GAP 2 /* cells between columns */

struct cell {
    char *text;
    unsigned width;
    enum style style;
};

struct table {
    const struct column *columns;
    size_t column_count;
    const struct screen *screen;
    struct cell *cells;
    size_t count, capacity;
};

struct table *table_new(const struct column *columns, size_t count, const struct screen *screen)
{
    struct table *table = NEW(struct table);

    table->columns = columns;
    table->column_count = count;
    table->screen = screen;
    return table;
}

struct table *table_free(struct table *table)
{
    if (!table)
        return NULL;
    for (size_t i = 0; i < table->count; i++)
        free(table->cells[i].text);
    free(table->cells);
    free(table);
    return NULL;
}

void table_cell(struct table *table, enum style style, const char *text)
{
    ARRAY_RESERVE(table->cells, table->count, table->capacity);
    struct cell *cell = &table->cells[table->count++];
    cell->text = text_display(text && *text ? text : "-", table->screen->is_utf8);
    cell->width = text_width(cell->text);
    cell->style = style;
}

void table_format(struct table *table, enum style style, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    owned(free) char *text = text_vformat(format, arguments);
    va_end(arguments);
    table_cell(table, style, text);
}

static unsigned total_width(const struct table *table, const unsigned *widths)
{
    unsigned total = 0;

    for (size_t i = 0; i < table->column_count; i++)
        if (widths[i])
            total += widths[i] + (total ? GAP : 0);
    return total;
}

static unsigned smallest_width(const struct table *table, const unsigned *widths)
{
    unsigned total = 0;

    for (size_t i = 0; i < table->column_count; i++) {
        unsigned minimum = table->columns[i].minimum;
        if (widths[i])
            total += (minimum && minimum < widths[i] ? minimum : widths[i]) + (total ? GAP : 0);
    }
    return total;
}

/* Take the column with the highest `drop` out; false when none may go. */
static bool drop_column(const struct table *table, unsigned *widths)
{
    size_t highest = table->column_count;

    for (size_t i = 0; i < table->column_count; i++)
        if (widths[i] && table->columns[i].drop &&
            (highest == table->column_count ||
             table->columns[i].drop > table->columns[highest].drop))
            highest = i;
    if (highest == table->column_count)
        return false;
    widths[highest] = 0;
    return true;
}

/* One cell from the widest column that may still be cut; false when there is none. */
static bool shrink_column(const struct table *table, unsigned *widths)
{
    size_t widest = table->column_count;

    for (size_t i = 0; i < table->column_count; i++) {
        unsigned minimum = table->columns[i].minimum;
        if (minimum && widths[i] > minimum &&
            (widest == table->column_count || widths[i] > widths[widest]))
            widest = i;
    }
    if (widest == table->column_count)
        return false;
    widths[widest]--;
    return true;
}

static unsigned *lay_out(const struct table *table, bool header)
{
    unsigned *widths = memory_new(table->column_count * sizeof(*widths));
    unsigned available = screen_width(table->screen);

    for (size_t i = 0; i < table->column_count; i++)
        widths[i] = header ? text_width(table->columns[i].title) : 1;
    for (size_t i = 0; i < table->count; i++) {
        unsigned *width = &widths[i % table->column_count];
        if (table->cells[i].width > *width)
            *width = table->cells[i].width;
    }
    if (!available)
        return widths;
    while (smallest_width(table, widths) > available && drop_column(table, widths))
        ;
    while (total_width(table, widths) > available && shrink_column(table, widths))
        ;
    return widths;
}

static void print_spaces(FILE *stream, unsigned count)
{
    while (count--)
        putc_unlocked(' ', stream);
}

static void print_cell(const struct screen *screen, const struct column *column,
                       const struct cell *cell, unsigned width, bool is_last)
{
    owned(free) char *cut = NULL;
    const char *text = cell->text;
    unsigned used = cell->width;

    if (used > width) {
        cut = text_copy(cell->text);
        text_cut(cut, width);
        text = cut;
        used = text_width(cut);
    }
    unsigned padding = used < width ? width - used : 0;
    print_spaces(screen->stream, column->right ? padding : 0);
    fputs(screen_begin(screen, cell->style), screen->stream);
    fputs(text, screen->stream);
    fputs(screen_end(screen, cell->style), screen->stream);
    if (!is_last)
        print_spaces(screen->stream, GAP + (column->right ? 0 : padding));
}

static void print_row(const struct table *table, const struct cell *cells, const unsigned *widths)
{
    size_t last = table->column_count;

    while (last > 1 && !widths[last - 1])
        last--;
    for (size_t i = 0; i < last; i++)
        if (widths[i])
            print_cell(table->screen, &table->columns[i], &cells[i], widths[i], i + 1 == last);
    putc('\n', table->screen->stream);
}

static void print_header(const struct table *table, const unsigned *widths)
{
    owned(free) struct cell *cells = memory_new(table->column_count * sizeof(*cells));

    for (size_t i = 0; i < table->column_count; i++)
        cells[i] = (struct cell){ .text = (char *)table->columns[i].title,
                                  .width = text_width(table->columns[i].title),
                                  .style = STYLE_BOLD };
    print_row(table, cells, widths);
}

void table_print(const struct table *table, bool header)
{
    owned(free) unsigned *widths = lay_out(table, header);

    assert(table->count % table->column_count == 0);
    if (header)
        print_header(table, widths);
    for (size_t i = 0; i < table->count; i += table->column_count)
        print_row(table, table->cells + i, widths);
}
