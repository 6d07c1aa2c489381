#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "tap.h"

static int parse(struct options *options, struct diag *diag, const char *line)
{
    static char text[512];
    char *argv[32] = { (char *)"waferd" };
    int argc = 1;

    snprintf(text, sizeof(text), "%s", line);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    argv[argc] = NULL;
    return options_parse(argc, argv, options, diag);
}

START_TEST(without_arguments_the_site_file_is_used)
{
    struct options options;

    ck_assert_int_eq(parse(&options, NULL, ""), 0);
    ck_assert_int_eq(options.action, OPTIONS_RUN);
    ck_assert_ptr_null(options.config_path);
    ck_assert_ptr_null(options.dev_dir);
}
END_TEST

START_TEST(dev_has_a_wafer_pool_and_a_gpu_pool)
{
    struct options options;

    ck_assert_int_eq(parse(&options, NULL, "--dev /tmp/x"), 0);
    ck_assert_uint_eq(options.pool_count, 2);
    ck_assert_str_eq(options.pools[0].name, "wafer");
    ck_assert_str_eq(options.pools[0].platform, "cs3");
    ck_assert_uint_eq(options.pools[0].count, 4);
    ck_assert_str_eq(options.pools[1].name, "gpu");
    ck_assert_uint_eq(options.speed, 600);
}
END_TEST

START_TEST(pools_replace_those_of_their_name_and_add_others)
{
    struct options options;

    ck_assert_int_eq(parse(&options, NULL,
                           "--dev /tmp/x --pool cs2:8 --pool=gpu=h100x8:1 --pool ipu=ipu-pod16 "
                           "--speed=1 --seed 18446744073709551615"),
                     0);
    ck_assert_uint_eq(options.pool_count, 3);
    ck_assert_str_eq(options.pools[0].platform, "cs2");
    ck_assert_uint_eq(options.pools[0].count, 8);
    ck_assert_uint_eq(options.pools[1].count, 1);
    ck_assert_str_eq(options.pools[2].name, "ipu");
    ck_assert_str_eq(options.pools[2].platform, "ipu-pod16");
    ck_assert_uint_eq(options.pools[2].count, 1);
    ck_assert_uint_eq(options.speed, 1);
    ck_assert_uint_eq(options.seed, UINT64_MAX);
}
END_TEST

static const struct {
    const char *line, *text; /* a part of what is said */
} mistakes[] = {
    { "--devel /tmp/x", "did you mean --dev" },
    { "--spede 3", "did you mean --speed" },
    { "--conf x", "unknown option" }, /* no abbreviations */
    { "serve", "unexpected argument 'serve'" },
    { "--dev", "--dev: its value is missing" },
    { "--dev=", "name of a directory is missing" },
    { "--config", "--config: its value is missing" },
    { "--check-config=yes", "--check-config takes no value" },
    { "--speed 3", "--speed goes with --dev" },
    { "--pool cs3:8", "--pool goes with --dev" },
    { "--dev x --config y", "leave out --config" },
    { "--dev x --check-config", "leave out --check-config" },
    { "--dev x --speed 0", "'0' is not a whole number from 1" },
    { "--dev x --speed 100001", "to 100000" },
    { "--dev x --speed 1.5", "'1.5' is not a whole number" },
    { "--dev x --seed -1", "'-1' is not a whole number" },
    { "--dev x --pool cs3:0", "'0' is not a whole number from 1 to 2048" },
    { "--dev x --pool cs3:2049", "from 1 to 2048" },
    { "--dev x --pool =cs3:1", "is not [NAME=]PLATFORM[:COUNT]" },
    { "--dev x --pool ../cs3:1", "is not [NAME=]PLATFORM[:COUNT]" },
    { "--dev x --pool a/b=cs3:1", "is not [NAME=]PLATFORM[:COUNT]" },
};

START_TEST(a_mistake_is_named_and_changes_nothing)
{
    struct options options = { .speed = 4711 };
    struct diag diag;

    ck_assert_int_eq(parse(&options, &diag, mistakes[_i].line), -EINVAL);
    ck_assert_msg(strstr(diag.text, mistakes[_i].text), "'%s' says: %s", mistakes[_i].line,
                  diag.text);
    ck_assert_uint_eq(options.speed, 4711);
}
END_TEST

START_TEST(help_and_version_win_over_what_goes_together_badly)
{
    struct options options;

    ck_assert_int_eq(parse(&options, NULL, "--speed 3 --help"), 0);
    ck_assert_int_eq(options.action, OPTIONS_HELP);
    ck_assert_int_eq(parse(&options, NULL, "--version"), 0);
    ck_assert_int_eq(options.action, OPTIONS_VERSION);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("options");
    TCase *tcase = tcase_create("options");

    tcase_add_test(tcase, without_arguments_the_site_file_is_used);
    tcase_add_test(tcase, dev_has_a_wafer_pool_and_a_gpu_pool);
    tcase_add_test(tcase, pools_replace_those_of_their_name_and_add_others);
    tcase_add_loop_test(tcase, a_mistake_is_named_and_changes_nothing, 0, ELEMENTS(mistakes));
    tcase_add_test(tcase, help_and_version_win_over_what_goes_together_badly);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
