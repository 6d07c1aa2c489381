#include "replay/picture.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/utf8.h"
#include "tap.h"

static const struct picture_measure measures[] = {
    { "jobs", "3" },
    { "average wait", "1 h 54 min" },
};

static const struct picture_job three[] = {
    { .number = 11, .submit_s = 1000, .start_s = 1000, .end_s = 4600, .systems = 3 },
    { .number = 12, .submit_s = 1000, .start_s = 4600, .end_s = 8200, .systems = 4 },
    { .number = 13, .submit_s = 1900, .start_s = -1, .end_s = -1, .systems = 9 },
};

static char *draw(const char *trace, const struct picture_job *jobs, size_t count, uint32_t systems)
{
    owned(buffer_done) struct buffer svg = BUFFER_EMPTY;
    struct picture picture = {
        .trace = trace,
        .options = "backfill easy, order fcfs",
        .measures = measures,
        .measure_count = ELEMENTS(measures),
        .jobs = jobs,
        .job_count = count,
        .systems = systems,
    };

    picture_draw(&picture, &svg);
    return buffer_text(&svg);
}

/* Some jobs, and no care whether they fit together. */
static struct picture_job *busy(size_t count, uint32_t systems)
{
    struct picture_job *jobs = memory_resize(NULL, count, sizeof(*jobs));
    struct random random;
    int64_t now_s = 0;

    random_init(&random, 5);
    for (size_t i = 0; i < count; i++) {
        int64_t run_s = 1 + (int64_t)random_below(&random, 5000);

        jobs[i] = (struct picture_job){
            .number = i + 1,
            .submit_s = now_s,
            .start_s = now_s + (int64_t)random_below(&random, 1000000),
            .systems = 1 + (uint32_t)random_below(&random, systems),
        };
        jobs[i].end_s = jobs[i].start_s + run_s;
        now_s += (int64_t)random_below(&random, 200);
    }
    return jobs;
}

/* -- what a parser of XML would say -- */

/* Past the element that begins at `at`, with all that is in it; NULL if it is not one. */
static const char *element_end(const char *at)
{
    char name[16];
    size_t length = strcspn(at + 1, " />\n");

    if (*at != '<' || !isalpha((unsigned char)at[1]) || length >= sizeof(name))
        return NULL;
    snprintf(name, sizeof(name), "%.*s", (int)length, at + 1);
    for (at += 1 + length; *at == ' ' || *at == '\n';) { /* attributes: a="b" */
        size_t word =
            strspn(at + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-:");
        if (word == 0 || at[1 + word] != '=' || at[2 + word] != '"')
            return NULL;
        at += 3 + word;
        at += strcspn(at, "\"<");
        if (*at++ != '"')
            return NULL;
    }
    if (at[0] == '/')
        return at[1] == '>' ? at + 2 : NULL;
    if (*at++ != '>')
        return NULL;
    while (*at) {
        if (at[0] == '<' && at[1] == '/')
            break;
        if (*at == '<')
            at = element_end(at);
        else if (*at == '&')
            at = strchr(at, ';') ? at + strcspn(at, "; <") : NULL;
        else
            at++;
        if (!at)
            return NULL;
    }
    if (*at == '\0' || strncmp(at + 2, name, length) != 0 || at[2 + length] != '>')
        return NULL;
    return at + 3 + length;
}

static bool well_formed(const char *svg)
{
    const char *end = element_end(svg);

    return end && strcmp(end, "\n") == 0 && utf8_valid_length(svg, strlen(svg)) == strlen(svg) &&
           strcspn(svg, "\1\2\3\4\5\6\7\10\13\14\16\17\33\177") == strlen(svg);
}

static size_t occurrences(const char *text, const char *word)
{
    size_t count = 0;

    for (; (text = strstr(text, word)) != NULL; text++)
        count++;
    return count;
}

/* -- tests -- */

START_TEST(a_few_jobs_are_blocks_with_their_numbers)
{
    owned(free) char *svg = draw("t.swf", three, ELEMENTS(three), 6);

    ck_assert(well_formed(svg));
    ck_assert_uint_eq(occurrences(svg, "<g class=\"block\">"), 2);
    ck_assert_ptr_nonnull(strstr(svg, ">11</text>"));
    ck_assert_ptr_nonnull(strstr(svg, ">12</text>"));
    ck_assert_ptr_nonnull(
        strstr(svg, "job 12: systems 4, submitted at 0 s, waited 3600 s, ran 3600 s"));
    ck_assert_ptr_null(strstr(svg, "job 13"));
    ck_assert_ptr_nonnull(strstr(svg, "systems in use, of 6"));
    ck_assert_ptr_nonnull(strstr(svg, ">t.swf</text>"));
    ck_assert_ptr_nonnull(strstr(svg, ">backfill easy, order fcfs</text>"));
    ck_assert_ptr_nonnull(strstr(svg, ">1 h 54 min</text>"));
    ck_assert_ptr_nonnull(strstr(svg, "prefers-color-scheme:dark"));
    ck_assert_ptr_null(strstr(svg, "http://www.w3.org/1999")); /* nothing is linked to */
    ck_assert_uint_eq(occurrences(svg, "http"), 1);            /* but for the name of SVG itself */
}
END_TEST

static const struct {
    size_t jobs;
    uint32_t systems;
} sizes[] = { { 0, 1 },   { 1, 1 },     { 30, 16 },       { 100, 128 },
              { 101, 4 }, { 3, 80640 }, { 300000, 80640 } };

START_TEST(a_picture_is_well_formed_and_small_whatever_it_shows)
{
    owned(free) struct picture_job *jobs = busy(sizes[_i].jobs, sizes[_i].systems);
    owned(free) char *svg = draw("t.swf", jobs, sizes[_i].jobs, sizes[_i].systems);
    owned(free) char *again = draw("t.swf", jobs, sizes[_i].jobs, sizes[_i].systems);

    ck_assert(well_formed(svg));
    ck_assert_uint_lt(strlen(svg), 1000000);
    ck_assert_str_eq(svg, again);
    ck_assert(!strstr(svg, "nan") && !strstr(svg, "inf\""));
    ck_assert_int_eq(strstr(svg, "no job ran") != NULL, sizes[_i].jobs == 0);
    ck_assert_int_eq(strstr(svg, "class=\"block\"") != NULL,
                     sizes[_i].jobs > 0 && sizes[_i].jobs <= 100 && sizes[_i].systems <= 128);
}
END_TEST

static const struct {
    const char *name, *shown;
} names[] = {
    { "</text><script>alert(1)</script>", "&lt;/text&gt;&lt;script&gt;alert(1)&lt;/script&gt;" },
    { "a&b \"c\" 'd' ]]>", "a&amp;b &quot;c&quot; &#39;d&#39; ]]&gt;" },
    { "nul-like \1 bell \7 tab \t escape \x1b[31m delete \x7f",
      "nul-like " UTF8_REPLACEMENT " bell " UTF8_REPLACEMENT " tab " UTF8_REPLACEMENT
      " escape " UTF8_REPLACEMENT "[31m delete " UTF8_REPLACEMENT },
    { "latin \xe9 cut \xe2\x82",
      "latin " UTF8_REPLACEMENT " cut " UTF8_REPLACEMENT UTF8_REPLACEMENT },
    { "gnp.\xe2\x80\xae"
      "fws no \xef\xbf\xbf",
      "gnp." UTF8_REPLACEMENT "fws no " UTF8_REPLACEMENT },
    { "%s%n \xf0\x9f\x90\x8c", "%s%n \xf0\x9f\x90\x8c" },
    { "", "" },
};

START_TEST(a_hostile_name_is_text_and_nothing_else)
{
    owned(free) char *svg = draw(names[_i].name, three, ELEMENTS(three), 6);
    owned(free) char *shown = text_format(">%s</text>", names[_i].shown);

    ck_assert(well_formed(svg));
    ck_assert_msg(strstr(svg, shown) != NULL, "no %s", shown);
    ck_assert_ptr_null(strstr(svg, "<script"));
}
END_TEST

START_TEST(a_name_without_end_is_cut)
{
    owned(free) char *name = memory_new(100001);

    memset(name, '<', 100000);
    owned(free) char *svg = draw(name, three, ELEMENTS(three), 6);
    ck_assert(well_formed(svg));
    ck_assert_uint_lt(strlen(svg), 20000);
    ck_assert_ptr_nonnull(strstr(svg, "&lt;\xe2\x80\xa6</text>"));
}
END_TEST

START_TEST(extreme_times_and_sizes_stay_in_the_picture)
{
    const struct picture_job jobs[] = {
        { .number = UINT64_MAX,
          .start_s = INT64_C(1) << 49,
          .end_s = INT64_C(1) << 50,
          .systems = 1 },
        { .start_s = 0, .end_s = 1, .systems = UINT32_MAX },
    };
    owned(free) char *svg = draw("t", jobs, ELEMENTS(jobs), 1);
    owned(free) char *large = draw("t", jobs, ELEMENTS(jobs), UINT32_MAX);

    ck_assert(well_formed(svg));
    ck_assert(well_formed(large));
    ck_assert_ptr_null(strstr(svg, "=\"-"));
    ck_assert_ptr_null(strstr(large, "=\"-"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("picture");
    TCase *tcase = tcase_create("picture");

    tcase_add_test(tcase, a_few_jobs_are_blocks_with_their_numbers);
    tcase_add_loop_test(tcase, a_picture_is_well_formed_and_small_whatever_it_shows, 0,
                        ELEMENTS(sizes));
    tcase_add_loop_test(tcase, a_hostile_name_is_text_and_nothing_else, 0, ELEMENTS(names));
    tcase_add_test(tcase, a_name_without_end_is_cut);
    tcase_add_test(tcase, extreme_times_and_sizes_stay_in_the_picture);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
