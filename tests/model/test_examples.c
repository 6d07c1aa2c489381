/* The job files of examples/ are what this version reads, and what their names promise. */
#include <dirent.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "errors.h"
#include "model/job.h"
#include "tap.h"

static const struct {
    const char *name;
    double parameters, tokens; /* as published */
} examples[] = {
    { "btlm-3b", 2.65e9, 4.70e11 },          { "cerebras-gpt-1.3b", 1.3e9, 2.63e10 },
    { "cerebras-gpt-111m", 111e6, 2.22e9 },  { "cerebras-gpt-13b", 13e9, 2.57e11 },
    { "cerebras-gpt-2.7b", 2.7e9, 5.30e10 }, { "cerebras-gpt-256m", 256e6, 5.12e9 },
    { "cerebras-gpt-590m", 590e6, 1.18e10 }, { "cerebras-gpt-6.7b", 6.7e9, 1.33e11 },
    { "llama2-7b", 6.74e9, 2e12 },
};

static char *folder(void)
{
    const char *top = getenv("top_srcdir");

    return text_format("%s/examples", top ? top : ".");
}

static Wafer__JobSpec *read_example(const char *name)
{
    owned(free) char *directory = folder();
    owned(free) char *path = text_format("%s/%s.yaml", directory, name);
    owned(fclose) FILE *file = fopen(path, "re");
    char text[16384];
    struct bind_errors errors = { 0 };
    Wafer__JobSpec *spec = NULL;

    ck_assert_msg(file, "%s cannot be opened", path);
    size_t length = fread(text, 1, sizeof(text), file);
    int r = job_spec_read(text, length, NULL, &spec, &errors);
    owned(free) char *said = errors_text(&errors);
    ck_assert_msg(r == 0, "%s: %s", path, said);
    return spec;
}

static void assert_near(double value, double published, double part, const char *what)
{
    ck_assert_msg(value > published * (1 - part) && value < published * (1 + part),
                  "%s: %.4g, published %.4g", what, value, published);
}

START_TEST(an_example_is_the_run_that_was_published)
{
    Wafer__JobSpec *spec = read_example(examples[_i].name);
    struct job_terms terms;

    job_terms(spec, &terms);
    ck_assert_str_eq(spec->name, examples[_i].name);
    ck_assert_int_gt(terms.limit_us, 0);
    assert_near((double)job_parameters(spec->workload->model), examples[_i].parameters, 0.03,
                "parameters");
    assert_near((double)terms.max_steps * terms.batch * terms.seq, examples[_i].tokens, 0.005,
                "tokens");
    wafer__job_spec__free_unpacked(spec, NULL);
}
END_TEST

START_TEST(no_example_is_left_out_here)
{
    owned(free) char *path = folder();
    DIR *directory = opendir(path);
    size_t found = 0;

    ck_assert_msg(directory, "%s cannot be opened", path);
    for (struct dirent *entry; (entry = readdir(directory));)
        found += strstr(entry->d_name, ".yaml") != NULL;
    closedir(directory);
    ck_assert_uint_eq(found, ELEMENTS(examples));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("examples");
    TCase *tcase = tcase_create("examples");

    tcase_add_loop_test(tcase, an_example_is_the_run_that_was_published, 0, ELEMENTS(examples));
    tcase_add_test(tcase, no_example_is_left_out_here);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
