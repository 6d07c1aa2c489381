#include "base/cleanup.h"
#include "base/memory.h"
#include "base/timestamp.h"
#include "cli/log_lines.h"
#include "tap.h"

#include <string.h>

static const char log_text[] = "2026-12-01T13:11:15.909Z first\n"
                               "a continuation of it\n"
                               "2026-12-01T13:11:16.000Z second\n"
                               "\n"
                               "2026-12-01 of what is no time\n"
                               "2026-12-01T13:11:17.000Z third\n";

static const struct {
    const char *since;
    size_t from; /* what is shown begins here */
} cases[] = {
    { "2026-12-01T13:11:15Z", 0 },          { "2026-12-01T13:11:15.909Z", 0 },
    { "2026-12-01T13:11:15.910Z", 52 },     { "2026-12-01T13:11:16Z", 52 },
    { "2026-12-01T14:11:16.5+01:00", 115 }, { "2026-12-02T00:00:00Z", sizeof(log_text) - 1 },
};

/* In pieces of each length: a time may be cut anywhere. */
START_TEST(lines_are_shown_from_that_time_on)
{
    const size_t length = sizeof(log_text) - 1;

    for (size_t piece = 1; piece <= length; piece++) {
        struct log_lines lines = { .since_us = 0 };
        owned(buffer_done) struct buffer shown = BUFFER_EMPTY;
        struct diag diag;
        ck_assert_int_eq(timestamp_parse(cases[_i].since, &lines.since_us, &diag), 0);
        for (size_t i = 0; i < length; i += piece)
            log_lines_take(&lines, (const uint8_t *)log_text + i,
                           length - i < piece ? length - i : piece, &shown);
        log_lines_done(&lines);
        owned(free) char *text = buffer_text(&shown);
        ck_assert_str_eq(text, log_text + cases[_i].from);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("log_lines");
    TCase *tcase = tcase_create("log_lines");

    tcase_add_loop_test(tcase, lines_are_shown_from_that_time_on, 0, ELEMENTS(cases));
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
