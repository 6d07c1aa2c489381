/* page — everything about one thing: a name and a value on each line. */
#ifndef WAFERD_CLI_PAGE_H
#define WAFERD_CLI_PAGE_H

#include "cli/command.h"
#include "view.pb-c.h"

/* Values may hold anything: they are made safe to show. An empty value is '-'. */
void page_field(const struct command *command, const char *name, const char *value);
void page_format(const struct command *command, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void page_time(const struct command *command, const char *name, const Wafer__Time *time);

/* A heading line; may hold anything too. */
void page_heading(const struct command *command, enum style style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
