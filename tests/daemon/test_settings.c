#include "settings.h"

#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "scratch.h"
#include "tap.h"

#define SITE                                                                                       \
    "apiVersion: wafer/v1\nkind: Site\nstate_dir: /s\nvault_dir: /v\nsocket: /run/w.sock\n"        \
    "agent_socket: /run/a.sock\n"

static const char platform_text[] =
    "apiVersion: wafer/v1\n"
    "kind: Platform\n"
    "name: %s\n"
    "target: wafer\n"
    "rate: {peak_pflops: 62.5, realised_fraction: 0.4, realised_fraction_small: 0.1, "
    "per_layer_ms: 0.1, weights_gb_per_s: 0, scaling_efficiency: 0.9}\n"
    "phases: {compile: {min: 1m, max: 2m}, compile_cached: {min: 1s, max: 2s}, start: {min: 1s, "
    "max: 2s}, program: {min: 1s, max: 2s}, weights_floor: 1s, weights_s_per_1e9: 1, "
    "save_s_per_1e9: 1, evaluate_fraction: 0.1, cleanup: 1s}\n"
    "faults: {mtbf: 100d}\n"
    "price_per_hour: \"18.00 EUR\"\n";

static char *path;
static struct settings *settings;
static struct buffer errors;

static void write_file(const char *name, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void write_file(const char *name, const char *format, ...)
{
    char *file_path = text_format("%s/%s", scratch, name);
    FILE *file = fopen(file_path, "w");
    va_list arguments;

    ck_assert_ptr_nonnull(file);
    va_start(arguments, format);
    vfprintf(file, format, arguments);
    va_end(arguments);
    fclose(file);
    free(file_path);
}

static void setup(void)
{
    scratch_make();
    path = text_format("%s/site.yaml", scratch);
    write_file("cs3.yaml", platform_text, "cs3");
    write_file("odd.yaml", platform_text, "even");
    settings = NULL;
}

static void teardown(void)
{
    settings_free(settings);
    buffer_done(&errors);
    free(path);
    scratch_remove();
}

START_TEST(a_site_file_with_defaults_is_read)
{
    write_file("site.yaml", SITE "platforms_dir: %s\npools: [{name: wafer, platform: cs3}]\n",
               scratch);
    ck_assert_int_eq(settings_read(path, &settings, &errors), 0);
    ck_assert_str_eq(settings->state_dir, "/s");
    ck_assert_uint_eq(settings->speed, 1);
    ck_assert_int_eq(settings->lease_us, 15000000);
    ck_assert_uint_eq(settings->snapshot_every, 100000);
    ck_assert_uint_eq(settings->pool_count, 1);
    ck_assert_str_eq(settings->pools[0].name, "wafer");
    ck_assert_str_eq(settings->pools[0].currency, "EUR");
    ck_assert_int_eq(settings->pools[0].price_micro, 18000000);
}
END_TEST

#define POOLS "pools: [{name: wafer, platform: cs3}]\n"

/* What follows SITE and `platforms_dir`, and what is said about it after the file's name. */
static const struct {
    const char *text, *said;
} mistakes[] = {
    { "pools: []\n", ":8:" },
    { "pools: [{name: wafer, platform: cs3}, {name: wafer, platform: cs3}]\n",
      "pool \"wafer\" is there twice" },
    { "pools: [{name: ../x, platform: cs3}]\n", "\"../x\" is not a name" },
    { "pools: [{name: wafer, platform: ../cs3}]\n", "\"../cs3\" is not a name" },
    { "pools: [{name: wafer, platform: cs9}]\n", "/cs9.yaml: it cannot be read: No such file" },
    { "pools: [{name: wafer, platform: odd}]\n", "/odd.yaml:3:7: name: \"even\" is not the name" },
    { "pools: [{name: wafer, platform: cs3}]\nspeed: 0\n", ":9:8: speed: 0 is not from 1" },
    { "pools: [{name: wafer, platform: cs3}]\nspeed: 100001\n", "speed: 100001 is not from 1" },
    { "pools: [{name: wafer, platform: cs3}]\nlease: 10ms\n", ":9:8: lease: " },
    { "pools: [{name: wafer, platform: cs3}]\nlease: 11m\n", "from 1s to 10m" },
    { "pools: [{name: wafer, platform: cs3}]\nsnapshot_every: 1\n", "at least 1000 records" },
    { "pools: [{name: wafer, platform: cs3}]\npoools: 1\n", "pools" },
    { POOLS "webhooks: [{name: 'a b', url: 'https://h'}]\n", ":9:" },
    { POOLS "webhooks: [{name: project, url: 'https://h'}]\n", "webhooks[0].name: \"project\"" },
    { POOLS "webhooks: [{name: a, url: 'https://h'}, {name: a, url: 'https://g'}]\n",
      "webhook \"a\" is there twice" },
    { POOLS "webhooks: [{name: a, url: 'https://u:p@h'}]\n",
      "webhooks[0].url: it has a user name" },
    { POOLS "webhooks: [{name: a, url: 'https://h', on: [ENDED]}]\n", "webhooks[0].on" },
    { POOLS "webhooks: [{name: a, url: 'https://h', secret: ../x}]\n",
      "webhooks[0].secret: it is neither" },
    { POOLS "webhooks: [{name: a, url: 'https://h', secret: /nowhere/at/all}]\n",
      "/nowhere/at/all cannot be read: No such file" },
    { POOLS "webhooks: [{name: a, url: 'https://h', secret: /dev/null}]\n",
      "/dev/null is not a regular file" },
    { POOLS "notify_allow: ['https://h', 'ftp://h']\n", "notify_allow[1]: it begins with neither" },
    { POOLS "notify_allow: ['https://h/?x']\n", "notify_allow[0]: it has a query" },
};

START_TEST(a_mistake_in_the_site_file_is_named_with_its_place)
{
    write_file("site.yaml", SITE "platforms_dir: %s\n%s", scratch, mistakes[_i].text);
    ck_assert_int_eq(settings_read(path, &settings, &errors), -EINVAL);
    ck_assert_ptr_null(settings);
    char *said = buffer_text(&errors);
    ck_assert_msg(strstr(said, mistakes[_i].said), "said: %s", said);
    free(said);
}
END_TEST

/* A file with a secret, and what is said about it; NULL: it is good. */
static const struct {
    const char *text;
    mode_t mode;
    const char *said;
} secrets[] = {
    { "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n", 0600, NULL },
    { "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n", 0400, NULL },
    { "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n", 0640, "its mode must be 0600" },
    { "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n", 0604, "its mode must be 0600" },
    { "", 0600, "begins with whsec_" },
    { "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n", 0600, "begins with whsec_" },
};

static void check_secret(const char *secret, const char *said)
{
    write_file("site.yaml",
               SITE POOLS "platforms_dir: %s\n"
                          "webhooks: [{name: a, url: 'https://h', on: [FAILED], secret: %s}]\n",
               scratch, secret);
    int r = settings_read(path, &settings, &errors);
    char *text = buffer_text(&errors);
    ck_assert_msg(r == (said ? -EINVAL : 0), "%s", text);
    ck_assert_msg(!said || strstr(text, said), "said: %s", text);
    ck_assert_ptr_null(strstr(text, "MfKQ"));
    free(text);
}

START_TEST(a_secret_is_read_from_a_file_that_is_its_owners_alone)
{
    char *file = text_format("%s/secret", scratch);

    write_file("secret", "%s", secrets[_i].text);
    chmod(file, secrets[_i].mode);
    check_secret(file, secrets[_i].said);
    if (!secrets[_i].said) {
        ck_assert_ptr_nonnull(settings->secrets[0]);
        ck_assert_uint_eq(settings->webhooks[0].on, 1u << WAFER__NOTIFY_SPEC__EVENT__FAILED);
    }
    free(file);
}
END_TEST

START_TEST(a_secret_is_read_from_a_credential_where_there_are_any)
{
    unsetenv("CREDENTIALS_DIRECTORY");
    check_secret("hook", NULL); /* to check a site file by hand */
    ck_assert_ptr_null(settings->secrets[0]);
    settings = settings_free(settings);
    setenv("CREDENTIALS_DIRECTORY", scratch, 1);
    check_secret("hook", "/hook cannot be read: No such file");
    char *file = text_format("%s/hook", scratch);
    write_file("hook", "%s", secrets[0].text);
    chmod(file, 0440); /* as the service manager's access list makes it look */
    check_secret("hook", NULL);
    ck_assert_ptr_nonnull(settings->secrets[0]);
    free(file);
}
END_TEST

START_TEST(all_mistakes_are_told_in_one_run)
{
    write_file("site.yaml", "apiVersion: wafer/v2\nkind: Job\nstate_dir: s\nvault_dir: /v\n"
                            "socket: /x\nagent_socket: /x\nplatforms_dir: /p\n");
    ck_assert_int_eq(settings_read(path, &settings, &errors), -EINVAL);
    char *said = buffer_text(&errors);
    ck_assert_ptr_nonnull(strstr(said, "site.yaml:1:13: apiVersion: "));
    ck_assert_ptr_nonnull(strstr(said, "site.yaml:2:7: kind: "));
    ck_assert_ptr_nonnull(strstr(said, "site.yaml:3:12: state_dir: \"s\" is not an absolute path"));
    ck_assert_ptr_nonnull(strstr(said, "site.yaml:6:15: agent_socket: "));
    ck_assert_ptr_nonnull(strstr(said, "pools: there must be at least one"));
    free(said);
}
END_TEST

START_TEST(a_site_file_that_is_none_is_refused)
{
    ck_assert_int_eq(settings_read(path, &settings, &errors), -EINVAL); /* not there */
    ck_assert_int_eq(settings_read(scratch, &settings, &errors), -EINVAL);
    char *said = buffer_text(&errors);
    ck_assert_ptr_nonnull(strstr(said, "No such file"));
    ck_assert_ptr_nonnull(strstr(said, "not a regular file"));
    free(said);
}
END_TEST

START_TEST(dev_puts_everything_below_its_directory)
{
    struct options options = {
        .dev_dir = scratch, .speed = 60, .pools = { { "wafer", "cs3", 4 } }, .pool_count = 1
    };

    ck_assert_int_eq(settings_dev(&options, scratch, &settings, &errors), 0);
    ck_assert(settings->dev);
    ck_assert_uint_eq(settings->speed, 60);
    ck_assert_int_eq(settings->lease_us, 2000000);
    ck_assert_str_eq(settings->state_dir, scratch);
    ck_assert_ptr_eq(strstr(settings->vault_dir, scratch), settings->vault_dir);
    ck_assert_ptr_eq(strstr(settings->socket, scratch), settings->socket);
    ck_assert_ptr_eq(strstr(settings->agent_socket, scratch), settings->agent_socket);
    ck_assert_str_eq(settings->pools[0].platform, "cs3");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("settings");
    TCase *tcase = tcase_create("settings");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_site_file_with_defaults_is_read);
    tcase_add_loop_test(tcase, a_mistake_in_the_site_file_is_named_with_its_place, 0,
                        ELEMENTS(mistakes));
    tcase_add_loop_test(tcase, a_secret_is_read_from_a_file_that_is_its_owners_alone, 0,
                        ELEMENTS(secrets));
    tcase_add_test(tcase, a_secret_is_read_from_a_credential_where_there_are_any);
    tcase_add_test(tcase, all_mistakes_are_told_in_one_run);
    tcase_add_test(tcase, a_site_file_that_is_none_is_refused);
    tcase_add_test(tcase, dev_puts_everything_below_its_directory);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
