#include "model/url.h"

#include <errno.h>
#include <stdlib.h>

#include "base/memory.h"
#include "tap.h"

static const struct {
    const char *text, *origin, *path;
} good[] = {
    { "https://hooks.example.org", "https://hooks.example.org", "" },
    { "HTTPS://Hooks.Example.ORG/a/B?c=d/../e", "https://hooks.example.org", "/a/B?c=d/../e" },
    { "http://a_b-c.example:8080/", "http://a_b-c.example:8080", "/" },
    { "http://localhost:80/x", "http://localhost", "/x" },
    { "https://h:443", "https://h", "" },
    { "https://h:80", "https://h:80", "" },
    { "http://127.0.0.1:65535/x", "http://127.0.0.1:65535", "/x" },
    { "http://[::1]:9/x", "http://[::1]:9", "/x" },
    { "http://[0:0:0::1]/", "http://[::1]", "/" },
    { "http://[::FFFF:7f00:1]/", "http://[::ffff:127.0.0.1]", "/" },
    { "https://1a.example", "https://1a.example", "" },
    { "https://h/a%20b/...?x", "https://h", "/a%20b/...?x" },
    { "https://h/a@b:c", "https://h", "/a@b:c" },
};

START_TEST(an_address_is_read_as_scheme_host_port_and_path)
{
    struct url url;
    struct diag diag = { "" };

    ck_assert_msg(url_parse(good[_i].text, &url, &diag) == 0, "%s: %s", good[_i].text, diag.text);
    char *origin = url_origin(&url);
    ck_assert_str_eq(origin, good[_i].origin);
    ck_assert_str_eq(url.path, good[_i].path);
    free(origin);
}
END_TEST

/* What one parser may read in another way than the next is no address. */
static const char *const bad[] = {
    "",
    "hooks.example.org",
    "//hooks.example.org",
    "ftp://h/",
    "file:///etc/passwd",
    "gopher://h:70/",
    "javascript://h/",
    "https:h/",
    "https:/h/",
    "https:///h/",
    "https://",
    "https://?",
    "https://h?x", /* is it a host or a query? */
    "http://allowed@evil/",
    "http://allowed:80@evil/",
    "http://user:password@allowed/",
    "http://@allowed/",
    "http://allowed\\@evil/",
    "http://evil\\.allowed/",
    "http://allowed#@evil/",
    "http://allowed/#x",
    "http://evil%2eallowed/",
    "http://allowed%00.evil/",
    "http://allowed:80:81/",
    "http://allowed:/",
    "http://allowed:0/",
    "http://allowed:080/",
    "http://allowed:65536/",
    "http://allowed:+80/",
    "http://allowed: 80/",
    " http://allowed/",
    "http://allowed/ ",
    "http://allowed/\tx",
    "http://allowed/x\r\nHost: evil",
    "http://allowed\xe3\x80\x82"
    "evil/", /* an ideographic full stop */
    "http://allow\xc3\xa9"
    "d/",
    "http://.allowed/",
    "http://allowed./",
    "http://allowed..evil/",
    "http://-allowed/",
    "http://127.1/",
    "http://2130706433/",
    "http://0x7f.0.0.1/",
    "http://0177.0.0.1/",
    "http://127.0.0.256/",
    "http://127.0.0.1.2/",
    "http://evil.127/",
    "http://[::1/",
    "http://::1/",
    "http://[::1]x/",
    "http://[::1%25eth0]/",
    "http://[127.0.0.1]/",
    "http://[]/",
    "https://h/a/../b",
    "https://h/a/..",
    "https://h/./b",
    "https://h/a/%2E%2e/b",
    "https://h/a/.%2e/b?x",
    "https://h/a%2Fb",
    "https://h/a%5cb",
    "https://h/{a}",
};

START_TEST(what_could_be_read_in_two_ways_is_refused)
{
    struct url url;
    struct diag diag = { "" };

    ck_assert_msg(url_parse(bad[_i], &url, &diag) == -EINVAL, "%s", bad[_i]);
    ck_assert_str_ne(diag.text, "");
    ck_assert_ptr_null(strstr(diag.text, "password"));
}
END_TEST

START_TEST(an_address_has_a_longest_length_and_so_has_its_host)
{
    char text[4096] = "https://";
    struct url url;

    memset(text + 8, 'a', 300);
    ck_assert_int_eq(url_parse(text, &url, NULL), -EINVAL);
    memset(text, 0, sizeof(text));
    strcpy(text, "https://h/");
    memset(text + 10, 'a', 2038);
    ck_assert_int_eq(url_parse(text, &url, NULL), 0);
    text[2048] = 'a';
    ck_assert_int_eq(url_parse(text, &url, NULL), -EINVAL);
}
END_TEST

static const struct {
    const char *allowed, *text;
    bool within;
} pairs[] = {
    { "https://h", "https://h", true },
    { "https://h", "https://H:443/any/thing?x=y", true },
    { "https://h/", "https://h", true },
    { "https://h", "http://h", false },
    { "https://h", "https://h:444", false },
    { "https://h", "https://h.evil", false },
    { "https://h", "https://evil.h", false },
    { "https://h", "https://hh", false },
    { "https://h:8443", "https://h:8443/x", true },
    { "https://h:8443", "https://h", false },
    { "http://127.0.0.1:80", "http://127.0.0.1/x", true },
    { "http://[::1]", "http://[0::1]:80/", true },
    { "https://h/teams", "https://h/teams", true },
    { "https://h/teams", "https://h/teams/7?x", true },
    { "https://h/teams", "https://h/teams?x", true },
    { "https://h/teams/", "https://h/teams/7", true },
    { "https://h/teams", "https://h/teamsters", false },
    { "https://h/teams", "https://h/team", false },
    { "https://h/teams", "https://h/Teams", false },
    { "https://h/teams", "https://h/", false },
    { "https://h/teams", "https://h/?/teams", false },
};

START_TEST(an_address_is_within_one_of_the_same_host_and_a_path_above_it)
{
    struct url allowed, url;

    ck_assert_int_eq(url_parse(pairs[_i].allowed, &allowed, NULL), 0);
    ck_assert_int_eq(url_parse(pairs[_i].text, &url, NULL), 0);
    ck_assert_msg(url_is_within(&url, &allowed) == pairs[_i].within, "%s in %s", pairs[_i].text,
                  pairs[_i].allowed);
    ck_assert_int_eq(url_is_allowed(&url, &allowed, 1), pairs[_i].within);
    ck_assert(!url_is_allowed(&url, NULL, 0));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("url");
    TCase *tcase = tcase_create("url");

    tcase_add_loop_test(tcase, an_address_is_read_as_scheme_host_port_and_path, 0, ELEMENTS(good));
    tcase_add_loop_test(tcase, what_could_be_read_in_two_ways_is_refused, 0, ELEMENTS(bad));
    tcase_add_test(tcase, an_address_has_a_longest_length_and_so_has_its_host);
    tcase_add_loop_test(tcase, an_address_is_within_one_of_the_same_host_and_a_path_above_it, 0,
                        ELEMENTS(pairs));
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
