#include "base/size.h"

#include <errno.h>

#include "base/memory.h"
#include "base/random.h"
#include "tap.h"

#define UNTOUCHED INT64_C(-7)
#define MIB       INT64_C(1048576)

static const struct {
    const char *text;
    int error;
    int64_t bytes;
} sizes[] = {
    { "512K", 0, MIB }, /* rounded up, never to nothing */
    { "1K", 0, MIB },
    { "1M", 0, MIB },
    { "1.5M", 0, 2 * MIB },
    { "1MiB", 0, MIB },
    { "1.5T", 0, INT64_C(1649267441664) },
    { "1.5TiB", 0, INT64_C(1649267441664) },
    { "1.5TB", 0, INT64_C(1500000550912) }, /* 1,500,000,000,000 in whole MiB */
    { "200GB", 0, 190735 * MIB },
    { "1KB", 0, MIB },
    { "40G", 0, 40 * 1024 * MIB },
    { "0.0000000001K", 0, MIB },
    { "8388607T", 0, INT64_C(8388607) << 40 },

    { "4096", -EINVAL, UNTOUCHED },
    { "1.5", -EINVAL, UNTOUCHED },
    { "12Q", -EINVAL, UNTOUCHED },
    { "12k", -EINVAL, UNTOUCHED },
    { "12kB", -EINVAL, UNTOUCHED },
    { "12 G", -EINVAL, UNTOUCHED },
    { "12GiBs", -EINVAL, UNTOUCHED },
    { "12B", -EINVAL, UNTOUCHED },
    { "G", -EINVAL, UNTOUCHED },
    { "", -EINVAL, UNTOUCHED },
    { "1e3G", -EINVAL, UNTOUCHED },
    { "012G", -EINVAL, UNTOUCHED },
    { "+1G", -EINVAL, UNTOUCHED },
    { "0", -ERANGE, UNTOUCHED },
    { "0G", -ERANGE, UNTOUCHED },
    { "0.0G", -ERANGE, UNTOUCHED },
    { "-1G", -ERANGE, UNTOUCHED },
    { "8388608T", -ERANGE, UNTOUCHED },
    { "99999999999999999999999999T", -ERANGE, UNTOUCHED },
};

START_TEST(a_size_parses_or_leaves_the_result_alone_and_says_why)
{
    int64_t bytes = UNTOUCHED;
    struct diag diag = { "" };

    ck_assert_int_eq(size_parse(sizes[_i].text, &bytes, &diag), sizes[_i].error);
    ck_assert_int_eq(bytes, sizes[_i].bytes);
    ck_assert_int_eq(diag.text[0] != '\0', sizes[_i].error != 0);
}
END_TEST

static const struct {
    const char *text, *says;
} remedies[] = {
    { "4096", "4096: a bare number is not a size (4096M? 4096G?)" },
    { "12Q", "\"12Q\": Q is not a unit (K M G T: powers of 1024; KB MB GB TB: of 1000)" },
    { "much", "\"much\" is not a size (like 512M, 1.5T, 200GB)" },
    { "-1G", "-1G: a size is more than 0" },
};

START_TEST(a_refused_size_comes_with_its_remedy)
{
    int64_t bytes;
    struct diag diag;

    ck_assert_int_lt(size_parse(remedies[_i].text, &bytes, &diag), 0);
    ck_assert_str_eq(diag.text, remedies[_i].says);
}
END_TEST

START_TEST(what_is_shown_reads_back_the_same)
{
    struct random random;

    random_init(&random, 2);
    for (int i = 0; i < 20000; i++) {
        char text[SIZE_TEXT_SIZE];
        int64_t back;
        int64_t bytes = (1 + (int64_t)random_below(&random, UINT64_C(1) << i % 42)) * MIB;

        size_format(bytes, text);
        ck_assert_int_eq(size_parse(text, &back, NULL), 0);
        ck_assert_int_eq(back, bytes);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("size");
    TCase *tcase = tcase_create("size");

    tcase_add_loop_test(tcase, a_size_parses_or_leaves_the_result_alone_and_says_why, 0,
                        ELEMENTS(sizes));
    tcase_add_loop_test(tcase, a_refused_size_comes_with_its_remedy, 0, ELEMENTS(remedies));
    tcase_add_test(tcase, what_is_shown_reads_back_the_same);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
