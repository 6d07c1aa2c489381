#include <locale.h>
#include <string.h>

#include "cli/text.h"
#include "tap.h"

static const struct {
    const char *text, *display, *ascii, *plain;
} texts[] = {
    { "gpt-7b", "gpt-7b", "gpt-7b", "gpt-7b" },
    { "a|b", "a|b", "a|b", "a|b" },
    { "a\tb\nc\rd", "a\\tb\\nc\\rd", "a\\tb\\nc\\rd", "a\\tb\\nc\\rd" },
    { "\x1b[2J\a", "\\x1b[2J\\x07", "\\x1b[2J\\x07", "\\x1b[2J\\x07" },
    { "back\\slash", "back\\slash", "back\\slash", "back\\\\slash" },
    { "\x7f", "\\x7f", "\\x7f", "\\x7f" },
    { "f\xc3\xbcr", "f\xc3\xbcr", "f\\xc3\\xbcr", "f\xc3\xbcr" },
    { "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80", "\\xf0\\x9f\\x98\\x80", "\xf0\x9f\x98\x80" },
    /* CSI in eight bits, as a character: as good as ESC [ */
    { "\xc2\x9b", "\\x9b", "\\x9b", "\\xc2\\x9b" },
    /* what would turn the rest of the line around */
    { "\xe2\x80\xae", "\\u202e", "\\u202e", "\xe2\x80\xae" },
    { "old\xff", "old\xef\xbf\xbd", "old\\xff", "old\\xff" },
    { "cut\xe2\x82", "cut\xef\xbf\xbd\xef\xbf\xbd", "cut\\xe2\\x82", "cut\\xe2\\x82" },
};

START_TEST(no_text_commands_a_terminal_or_splits_a_record)
{
    char *display = text_display(texts[_i].text, true);
    char *ascii = text_display(texts[_i].text, false);
    char *plain = text_plain(texts[_i].text);

    ck_assert_str_eq(display, texts[_i].display);
    ck_assert_str_eq(ascii, texts[_i].ascii);
    ck_assert_str_eq(plain, texts[_i].plain);
    free(display);
    free(ascii);
    free(plain);
}
END_TEST

static const struct {
    const char *text;
    unsigned width, cut_width;
    const char *cut;
} widths[] = {
    { "", 0, 5, "" },
    { "abcde", 5, 5, "abcde" },
    { "abcdef", 6, 5, "abcd+" },
    { "abcdef", 6, 1, "+" },
    { "f\xc3\xbcnf", 4, 3, "f\xc3\xbc+" },
    { "\xe6\x97\xa5\xe6\x9c\xac", 4, 3, "\xe6\x97\xa5+" }, /* two cells each */
    { "\xe6\x97\xa5\xe6\x9c\xac", 4, 2, "+" },             /* no half a character */
    { "e\xcc\x81x", 2, 2, "e\xcc\x81x" },                  /* a mark has no cell of its own */
};

START_TEST(width_counts_cells_and_a_cut_text_ends_in_plus)
{
    char room[32];

    strcpy(room, widths[_i].text);
    ck_assert_uint_eq(text_width(room), widths[_i].width);
    text_cut(room, widths[_i].cut_width);
    ck_assert_str_eq(room, widths[_i].cut);
    ck_assert_uint_le(text_width(room), widths[_i].cut_width);
}
END_TEST

/* Every way to cut a log into chunks must show the same. */
START_TEST(a_filtered_stream_does_not_depend_on_its_chunks)
{
    static const char log[] = "step 1\tloss 2\n\x1b[31m\xe2\x82\xac\r\xf0\x9f\x98\x80\xff.\n";
    static const char shown[] =
        "step 1\tloss 2\n\\x1b[31m\xe2\x82\xac\\r\xf0\x9f\x98\x80\xef\xbf\xbd.\n";
    size_t all = sizeof(log) - 1;

    for (size_t chunk = 1; chunk <= all; chunk++) {
        struct text_filter filter = { .kept_length = 0 };
        char out[200] = "";
        for (size_t i = 0; i < all; i += chunk) {
            size_t length;
            char *part =
                text_filter(&filter, log + i, i + chunk < all ? chunk : all - i, true, &length);
            ck_assert_uint_eq(strlen(part), length);
            strcat(out, part);
            free(part);
        }
        ck_assert_str_eq(out, shown);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("text");
    TCase *tcase = tcase_create("text");

    setlocale(LC_ALL, "C.UTF-8");
    tcase_add_loop_test(tcase, no_text_commands_a_terminal_or_splits_a_record, 0,
                        sizeof(texts) / sizeof(texts[0]));
    tcase_add_loop_test(tcase, width_counts_cells_and_a_cut_text_ends_in_plus, 0,
                        sizeof(widths) / sizeof(widths[0]));
    tcase_add_test(tcase, a_filtered_stream_does_not_depend_on_its_chunks);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
