/* Every file of tests/core/scenarios: inputs at the margin, and below each, in order, all that must
 * follow; records are indented deeper than effects. A new behaviour, or a fixed fault, is one more
 * file. With WAFERD_SCENARIOS_WRITE set the files are written anew: read the difference. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "scenario.h"
#include "tap.h"

static glob_t files;

static char *read_file(const char *path)
{
    owned(buffer_done) struct buffer text = { 0 };
    char block[4096];
    size_t length;
    FILE *file = fopen(path, "re");

    ck_assert_msg(file != NULL, "%s cannot be opened", path);
    while ((length = fread(block, 1, sizeof(block), file)))
        buffer_append(&text, block, length);
    fclose(file);
    return buffer_text(&text);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");

    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

/* What the file should say: its inputs and comments, each input followed by what came of it. */
static char *play(const char *text)
{
    struct scenario *scenario = scenario_new();
    owned(buffer_done) struct buffer said = { 0 };
    owned(free) char *copy = text_copy(text);

    for (char *rest = copy, *line; (line = strsep(&rest, "\n")) && (rest || *line);) {
        if (*line == ' ')
            continue;
        buffer_format(&said, "%s\n", line);
        if (*line && *line != '#')
            buffer_append_text(&said, scenario_run(scenario, line));
    }
    scenario_check_snapshot(scenario);
    scenario_free(scenario);
    return buffer_text(&said);
}

START_TEST(what_follows_is_what_the_scenario_says)
{
    const char *path = files.gl_pathv[_i];
    owned(free) char *expected = read_file(path);
    owned(free) char *said = play(expected);

    if (getenv("WAFERD_SCENARIOS_WRITE")) {
        write_file(path, said);
        return;
    }
    unsigned line = 1;
    const char *a = expected, *b = said;
    for (; *a && *b; line++) {
        size_t a_length = strcspn(a, "\n"), b_length = strcspn(b, "\n");
        ck_assert_msg(a_length == b_length && memcmp(a, b, a_length) == 0,
                      "%s:%u:\nexpected %.*s\ngot      %.*s", path, line, (int)a_length, a,
                      (int)b_length, b);
        a += a_length + (a[a_length] != 0);
        b += b_length + (b[b_length] != 0);
    }
    ck_assert_msg(!*a && !*b, "%s:%u: expected '%s', got '%s'", path, line, a, b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scenarios");
    const char *srcdir = getenv("srcdir");
    char pattern[4096];

    snprintf(pattern, sizeof(pattern), "%s/tests/core/scenarios/*.txt", srcdir ? srcdir : ".");
    if (glob(pattern, 0, NULL, &files) != 0)
        return EXIT_FAILURE;
    /* One case a file, so that its name is the name of the test. */
    for (size_t i = 0; i < files.gl_pathc; i++) {
        TCase *tcase = tcase_create(strrchr(files.gl_pathv[i], '/') + 1);
        tcase_add_loop_test(tcase, what_follows_is_what_the_scenario_says, (int)i, (int)i + 1);
        suite_add_tcase(suite, tcase);
    }
    int r = tap_run(suite);
    globfree(&files);
    return r;
}
