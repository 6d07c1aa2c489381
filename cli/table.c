#include "cli/table.h"

#include <assert.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "cli/text.h"

#define GAP 2 /* cells between columns */

/* All texts of a table stand one behind the other: a long list has a hundred thousand of them. */
struct cell {
    size_t text; /* where it begins in `texts`; ends with NUL */
    unsigned width;
    enum style style;
};

struct table {
    const struct column *columns;
    size_t column_count;
    const struct screen *screen;
    struct cell *cells;
    size_t count, capacity;
    struct buffer texts;
    struct buffer joined; /* of the cell that is being put together */
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
    buffer_done(&table->texts);
    buffer_done(&table->joined);
    free(table->cells);
    free(table);
    return NULL;
}

void table_cell(struct table *table, enum style style, const char *text)
{
    ARRAY_RESERVE(table->cells, table->count, table->capacity);
    struct cell *cell = &table->cells[table->count++];
    cell->text = table->texts.length;
    cell->width =
        text_append_display(&table->texts, text && *text ? text : "-", table->screen->is_utf8);
    cell->style = style;
}

void table_join(struct table *table, enum style style, ...)
{
    va_list arguments;

    buffer_clear(&table->joined);
    va_start(arguments, style);
    for (const char *part; (part = va_arg(arguments, const char *));)
        buffer_append_text(&table->joined, part);
    va_end(arguments);
    buffer_append(&table->joined, "", 1);
    table_cell(table, style, (const char *)buffer_data(&table->joined));
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

static void append_spaces(struct buffer *line, unsigned count)
{
    if (!count)
        return;
    memset(buffer_reserve(line, count), ' ', count);
    buffer_grow(line, count);
}

static void append_cell(struct buffer *line, const struct screen *screen,
                        const struct column *column, const char *text, unsigned used,
                        enum style style, unsigned width, bool is_last)
{
    owned(free) char *cut = NULL;

    if (used > width) {
        cut = text_copy(text);
        text_cut(cut, width);
        text = cut;
        used = text_width(cut);
    }
    unsigned padding = used < width ? width - used : 0;
    append_spaces(line, column->right ? padding : 0);
    buffer_append_text(line, screen_begin(screen, style));
    buffer_append_text(line, text);
    buffer_append_text(line, screen_end(screen, style));
    if (!is_last)
        append_spaces(line, GAP + (column->right ? 0 : padding));
}

/* `cells` NULL: the titles. */
static void print_row(const struct table *table, const struct cell *cells, const unsigned *widths,
                      struct buffer *line)
{
    size_t last = table->column_count;

    while (last > 1 && !widths[last - 1])
        last--;
    buffer_clear(line);
    for (size_t i = 0; i < last; i++) {
        const struct column *column = &table->columns[i];
        if (!widths[i])
            continue;
        if (cells)
            append_cell(line, table->screen, column,
                        (const char *)buffer_data(&table->texts) + cells[i].text, cells[i].width,
                        cells[i].style, widths[i], i + 1 == last);
        else
            append_cell(line, table->screen, column, column->title, text_width(column->title),
                        STYLE_BOLD, widths[i], i + 1 == last);
    }
    buffer_append(line, "\n", 1);
    fwrite(buffer_data(line), 1, line->length, table->screen->stream);
}

void table_print(const struct table *table, bool header)
{
    owned(free) unsigned *widths = lay_out(table, header);
    owned(buffer_done) struct buffer line = BUFFER_EMPTY;

    assert(table->count % table->column_count == 0);
    if (header)
        print_row(table, NULL, widths, &line);
    for (size_t i = 0; i < table->count; i += table->column_count)
        print_row(table, table->cells + i, widths, &line);
}
