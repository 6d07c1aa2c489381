#include "base/utf8.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "tap.h"

#define FFFD UTF8_REPLACEMENT

static const struct {
    const char *text;
    size_t valid;
    const char *repaired, *escaped;
} texts[] = {
    { "plain", 5, "plain", "plain" },
    { "\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80", 9, "\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80",
      "\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80" },
    { "a\xff"
      "b",
      1, "a" FFFD "b", "a" FFFD "b" },
    { "\xc3", 0, FFFD, FFFD },                                           /* cut */
    { "\xe2\x82", 0, FFFD FFFD, FFFD FFFD },                             /* cut */
    { "\xc0\xaf", 0, FFFD FFFD, FFFD FFFD },                             /* '/' in two bytes */
    { "\xe0\x80\xaf", 0, FFFD FFFD FFFD, FFFD FFFD FFFD },               /* and in three */
    { "\xed\xa0\x80", 0, FFFD FFFD FFFD, FFFD FFFD FFFD },               /* half of a pair */
    { "\xf4\x90\x80\x80", 0, FFFD FFFD FFFD FFFD, FFFD FFFD FFFD FFFD }, /* above U+10FFFF */
    { "\x1b[2J\r\n\t\a", 8, "\x1b[2J\r\n\t\a", "\\x1b[2J\\r\\n\\t\\x07" },
    { "\xc2\x9b\x7f", 3, "\xc2\x9b\x7f", "\\x9b\\x7f" }, /* CSI in one character */
    { "", 0, "", "" },
};

START_TEST(bad_bytes_are_found_replaced_and_never_reach_a_terminal)
{
    size_t length = strlen(texts[_i].text);
    owned(free) char *repaired = utf8_repair(texts[_i].text, length);
    owned(free) char *escaped = utf8_escape(texts[_i].text, length);

    ck_assert_uint_eq(utf8_valid_length(texts[_i].text, length), texts[_i].valid);
    ck_assert_str_eq(repaired, texts[_i].repaired);
    ck_assert_str_eq(escaped, texts[_i].escaped);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("utf8");
    TCase *tcase = tcase_create("utf8");

    tcase_add_loop_test(tcase, bad_bytes_are_found_replaced_and_never_reach_a_terminal, 0,
                        ELEMENTS(texts));
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
