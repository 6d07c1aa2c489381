/* What the site's list is compared with is where libcurl goes: whatever text one of the two reads,
 * the other reads in the same way, or ours refuses it. */
#include <curl/curl.h>
#include <string.h>
#include <strings.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/random.h"
#include "model/url.h"
#include "tap.h"

#define TEXTS 20000
#define SEEDS 10

static const char *const pieces[] = {
    "http://",   "https://", "HTTP://",    "http:", "allowed",   "evil.example", "a",       "Z",
    "127.0.0.1", "0x7f",     "2130706433", "[",     "]",         "::1",          "::ffff:", "%25",
    "@",         ":",        ":80",        ":443",  ":0",        ":65535",       ":0080",   "/",
    "//",        "\\",       "?",          "#",     ".",         "..",           "%2e",     "%2f",
    "%00",       "-",        "_",          "+",     " ",         "\t",           ";",       "&",
    "\xc3\xa9",  "xn--",     "user:",      "1",     "localhost",
};

static char *some_text(struct random *random)
{
    owned(buffer_done) struct buffer text = BUFFER_EMPTY;
    uint64_t count = random_below(random, 6);

    buffer_append_text(&text, random_below(random, 4) ? "http://" : "");
    for (uint64_t i = 0; i <= count; i++)
        buffer_append_text(&text, pieces[random_below(random, ELEMENTS(pieces))]);
    return buffer_text(&text);
}

static void check(const char *text, const struct url *url)
{
    CURLU *other = curl_url();
    owned(free) char *port = text_format("%u", url->port);
    char *parts[4] = { NULL };

    ck_assert_msg(curl_url_set(other, CURLUPART_URL, text, 0) == CURLUE_OK, "'%s'", text);
    curl_url_get(other, CURLUPART_SCHEME, &parts[0], 0);
    curl_url_get(other, CURLUPART_HOST, &parts[1], 0);
    curl_url_get(other, CURLUPART_PORT, &parts[2], CURLU_DEFAULT_PORT);
    curl_url_get(other, CURLUPART_PATH, &parts[3], 0);
    size_t path_length = strcspn(url->path, "?");
    ck_assert_msg(strcmp(parts[0], url->is_https ? "https" : "http") == 0, "'%s'", text);
    ck_assert_msg(strcasecmp(parts[1], url->host) == 0, "'%s': %s, %s", text, parts[1], url->host);
    ck_assert_msg(strcmp(parts[2], port) == 0, "'%s': %s, %s", text, parts[2], port);
    ck_assert_msg(path_length ? strlen(parts[3]) == path_length &&
                                    strncmp(parts[3], url->path, path_length) == 0
                              : strcmp(parts[3], "/") == 0,
                  "'%s': %s", text, parts[3]);
    for (size_t i = 0; i < ELEMENTS(parts); i++)
        curl_free(parts[i]);
    curl_url_cleanup(other);
}

START_TEST(libcurl_goes_where_the_list_was_compared)
{
    struct random random;
    unsigned accepted = 0;

    random_init(&random, (uint64_t)_i);
    for (int i = 0; i < TEXTS; i++) {
        owned(free) char *text = some_text(&random);
        struct url url;
        if (url_parse(text, &url, NULL) < 0)
            continue;
        accepted++;
        check(text, &url);
    }
    ck_assert_uint_gt(accepted, TEXTS / 100);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("agreement");
    TCase *tcase = tcase_create("agreement");

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, libcurl_goes_where_the_list_was_compared, 0, SEEDS);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
