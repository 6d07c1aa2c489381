/* Posts to receivers that do what bad ones may do. */
#include "notify/notify.h"

#include <errno.h>
#include <signal.h>
#include <sodium.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/memory.h"
#include "net/loop.h"
#include "receiver.h"
#include "scratch.h"
#include "tap.h"

#define PATIENT_MS 20000 /* never reached */
#define HASTY_MS   400
#define SECRET     "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
#define BODY       "{\"schema\":\"wafer.notification/v1\"}"

struct sent {
    struct notify_post post;
    bool is_done;
    int error, times;
    char text[256];
    uint64_t done_us;
};

static sd_event *event;
static struct notify *notify;
static struct secret *secret;
static struct {
    pid_t pid;
    unsigned port;
} receivers[2];
static unsigned done_count, under_way, most_under_way;
static int body_error;

static int on_body(void *userdata, struct notify_post *post, char **ret, struct diag *diag)
{
    if (body_error)
        return diag_fail(diag, body_error, "there is nothing to send");
    *ret = text_copy(BODY);
    if (++under_way > most_under_way)
        most_under_way = under_way;
    return 0;
}

static void on_done(void *userdata, struct notify_post *post, int error, const char *text)
{
    struct sent *sent = CONTAINER_OF(post, struct sent, post);

    ck_assert(!sent->is_done);
    sent->is_done = true;
    sent->error = error;
    snprintf(sent->text, sizeof(sent->text), "%s", text);
    sent->done_us = loop_now_us();
    done_count++;
    if (under_way)
        under_way--;
}

static void setup(long timeout_ms)
{
    static const struct notify_ops ops = { .body = on_body, .done = on_done };
    struct notify_config config = { .agent = "waferd/test", .timeout_ms = timeout_ms };
    struct diag diag;

    unsetenv("http_proxy");
    scratch_make();
    for (int i = 0; i < 2; i++) {
        owned(free) char *dir = text_format("%s/%d", scratch, i);
        int fd = receiver_listen(&receivers[i].port);
        ck_assert_int_eq(mkdir(dir, 0700), 0);
        receivers[i].pid = fork();
        if (receivers[i].pid == 0)
            receiver_serve(fd, dir);
        close(fd);
    }
    done_count = under_way = most_under_way = 0;
    body_error = 0;
    ck_assert_int_ge(sd_event_new(&event), 0);
    ck_assert_int_eq(secret_parse(SECRET, &secret, &diag), 0);
    ck_assert_int_eq(notify_new(event, &config, &ops, NULL, &notify, &diag), 0);
}

static void setup_patient(void)
{
    setup(PATIENT_MS);
}

static void setup_hasty(void)
{
    setup(HASTY_MS);
}

static void teardown(void)
{
    notify_free(notify);
    secret_free(secret);
    sd_event_unref(event);
    for (int i = 0; i < 2; i++) {
        kill(receivers[i].pid, SIGKILL);
        waitpid(receivers[i].pid, NULL, 0);
    }
    scratch_remove();
}

static void post(struct sent *sent, unsigned port, const char *path)
{
    *sent = (struct sent){ .post = { .id = "a1", .secret = secret } };
    sent->post.url = text_format("http://127.0.0.1:%u%s", port, path);
    notify_post(notify, &sent->post);
}

static void forget(struct sent *sent)
{
    free((char *)sent->post.url);
}

/* The request number `i` of the first receiver, which it has. */
static char *request(unsigned i)
{
    owned(free) char *path = text_format("%s/0/%u", scratch, i);
    char *text = memory_new(65536);
    FILE *file = fopen(path, "r");

    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, 65535, file)] = '\0';
    fclose(file);
    return text;
}

static char *header(const char *text, const char *name)
{
    owned(free) char *start = text_format("\r\n%s: ", name);
    const char *found = strstr(text, start);

    ck_assert_msg(found != NULL, "no %s in %s", name, text);
    found += strlen(start);
    return text_copy_length(found, strcspn(found, "\r"));
}

/* ---- what arrives ---- */

START_TEST(a_post_has_its_id_its_time_and_the_signature_of_both_and_the_body)
{
    unsigned char key[24], mac[crypto_auth_hmacsha256_BYTES];
    crypto_auth_hmacsha256_state state;
    char base64[64];
    struct sent sent;

    post(&sent, receivers[0].port, "/ok?token=t");
    LOOP_UNTIL(event, sent.is_done);
    ck_assert_msg(sent.error == 0, "%s", sent.text);
    owned(free) char *text = request(1);
    owned(free) char *id = header(text, "webhook-id");
    owned(free) char *time_s = header(text, "webhook-timestamp");
    owned(free) char *signature = header(text, "webhook-signature");
    owned(free) char *type = header(text, "Content-Type");
    owned(free) char *agent = header(text, "User-Agent");
    const char *body = strstr(text, "\r\n\r\n") + 4;

    ck_assert_ptr_eq(strstr(text, "POST /ok?token=t HTTP/1.1\r\n"), text);
    ck_assert_str_eq(body, BODY);
    ck_assert_str_eq(id, "a1");
    ck_assert_str_eq(type, "application/json");
    ck_assert_str_eq(agent, "waferd/test");
    ck_assert_int_le(labs(strtol(time_s, NULL, 10) - time(NULL)), 5);
    /* Worked out here once more. */
    owned(free) char *content = text_format("%s.%s.%s", id, time_s, body);
    ck_assert_int_eq(sodium_base642bin(key, sizeof(key), &SECRET[6], strlen(SECRET) - 6, NULL, NULL,
                                       NULL, sodium_base64_VARIANT_ORIGINAL),
                     0);
    crypto_auth_hmacsha256_init(&state, key, sizeof(key));
    crypto_auth_hmacsha256_update(&state, (unsigned char *)content, strlen(content));
    crypto_auth_hmacsha256_final(&state, mac);
    sodium_bin2base64(base64, sizeof(base64), mac, sizeof(mac), sodium_base64_VARIANT_ORIGINAL);
    ck_assert_ptr_eq(strstr(signature, "v1,"), signature);
    ck_assert_str_eq(signature + 3, base64);
    forget(&sent);
}
END_TEST

START_TEST(without_a_secret_there_is_no_signature)
{
    struct sent sent;

    post(&sent, receivers[0].port, "/ok");
    sent.post.secret = NULL;
    LOOP_UNTIL(event, sent.is_done);
    owned(free) char *text = request(1);
    ck_assert_ptr_null(strstr(text, "webhook-signature"));
    forget(&sent);
}
END_TEST

/* ---- what comes back ---- */

static const struct {
    const char *path;
    int error;
    const char *says;
} answers[] = {
    { "/ok", 0, "" },
    { "/status/204", 0, "" },
    { "/status/299", 0, "" },
    { "/status/404", -EPROTO, "HTTP status 404" },
    { "/status/500", -EPROTO, "HTTP status 500" },
    { "/redirect", -EPROTO, "HTTP status 302 (redirects are not followed)" },
    { "/flood", 0, "" }, /* it has said that it has it */
    { "/floodfail", -EPROTO, "HTTP status 500" },
    { "/cutbody", 0, "" },
    { "/cut", -EIO, "" },
    { "/headers", -EIO, "" },
    { "/garbage", -EIO, "" },
};

START_TEST(only_a_whole_head_with_a_status_of_200_to_299_is_an_acknowledgement)
{
    struct sent sent;

    post(&sent, receivers[0].port, answers[_i].path);
    LOOP_UNTIL(event, sent.is_done);
    ck_assert_msg(sent.error == answers[_i].error, "%d: %s", sent.error, sent.text);
    ck_assert_msg(sent.error == -EIO ? *sent.text != '\0'
                                     : strcmp(sent.text, answers[_i].says) == 0,
                  "%s", sent.text);
    owned(free) char *second = text_format("%s/0/2", scratch);
    ck_assert_int_ne(access(second, F_OK), 0); /* nothing was followed, nothing sent twice */
    forget(&sent);
}
END_TEST

START_TEST(where_nobody_listens_it_fails_with_the_reason)
{
    struct sent sent;
    unsigned port;
    int fd = receiver_listen(&port);

    close(fd);
    post(&sent, port, "/secret-path");
    ck_assert(!sent.is_done); /* never from within notify_post() */
    LOOP_UNTIL(event, sent.is_done);
    ck_assert_int_eq(sent.error, -EIO);
    ck_assert_ptr_nonnull(strstr(sent.text, "onnect"));
    ck_assert_ptr_null(strstr(sent.text, "secret-path"));
    forget(&sent);
}
END_TEST

static const char *const addresses[] = { "ftp://127.0.0.1/", "file:///etc/passwd", "",
                                         "http://a@b/", "http://2130706433/" };

START_TEST(an_address_that_is_none_fails_and_goes_nowhere)
{
    struct sent sent = { .post = { .id = "a1", .url = addresses[_i] } };

    notify_post(notify, &sent.post);
    ck_assert(!sent.is_done);
    LOOP_UNTIL(event, sent.is_done);
    ck_assert_int_eq(sent.error, -EINVAL);
}
END_TEST

START_TEST(what_has_nothing_to_say_fails_with_the_reason)
{
    struct sent sent;

    body_error = -ENOENT;
    post(&sent, receivers[0].port, "/ok");
    LOOP_UNTIL(event, sent.is_done);
    ck_assert_int_eq(sent.error, -ENOENT);
    ck_assert_str_eq(sent.text, "there is nothing to send");
    forget(&sent);
}
END_TEST

/* ---- many ---- */

START_TEST(a_receiver_that_hangs_holds_up_its_own_posts_alone)
{
    struct sent hung[3 * NOTIFY_PER_ORIGIN], quick[20];

    for (size_t i = 0; i < ELEMENTS(hung); i++)
        post(&hung[i], receivers[0].port, "/hang");
    for (size_t i = 0; i < ELEMENTS(quick); i++)
        post(&quick[i], receivers[1].port, "/ok");
    LOOP_UNTIL(event, done_count == ELEMENTS(quick));
    ck_assert_uint_le(most_under_way, 2 * NOTIFY_PER_ORIGIN);
    notify = notify_free(notify);
    for (size_t i = 0; i < ELEMENTS(hung); i++) {
        ck_assert(!hung[i].is_done);
        forget(&hung[i]);
    }
    for (size_t i = 0; i < ELEMENTS(quick); i++) {
        ck_assert_msg(quick[i].is_done && quick[i].error == 0, "%s", quick[i].text);
        forget(&quick[i]);
    }
}
END_TEST

static const char *const silent[] = { "/hang", "/drip" };

START_TEST(a_receiver_that_does_not_answer_in_time_has_not_acknowledged)
{
    struct sent sent;

    post(&sent, receivers[0].port, silent[_i]);
    LOOP_UNTIL(event, sent.is_done);
    ck_assert_int_eq(sent.error, -ETIMEDOUT);
    ck_assert_str_eq(sent.text, "no answer within 0.4 s");
    forget(&sent);
}
END_TEST

START_TEST(each_post_has_its_own_time_not_what_those_before_it_have_left)
{
    struct sent hung[2 * NOTIFY_PER_ORIGIN];

    for (size_t i = 0; i < ELEMENTS(hung); i++)
        post(&hung[i], receivers[0].port, "/hang");
    LOOP_UNTIL(event, done_count == ELEMENTS(hung));
    ck_assert_uint_ge(hung[ELEMENTS(hung) - 1].done_us - hung[0].done_us, HASTY_MS * 900);
    ck_assert_uint_eq(most_under_way, NOTIFY_PER_ORIGIN);
    for (size_t i = 0; i < ELEMENTS(hung); i++)
        forget(&hung[i]);
}
END_TEST

START_TEST(no_turn_of_the_loop_waits_for_a_receiver)
{
    static const char *const paths[] = { "/flood",   "/floodfail", "/headers", "/cut",
                                         "/garbage", "/ok",        "/hang",    "/drip" };
    struct sent sent[ELEMENTS(paths)];
    uint64_t longest_us = 0;

    for (size_t i = 0; i < ELEMENTS(paths); i++)
        post(&sent[i], receivers[i % 2].port, paths[i]);
    while (done_count < ELEMENTS(paths) - 1) { /* all but the one that hangs */
        int r = sd_event_prepare(event);
        if (r == 0)
            r = sd_event_wait(event, LOOP_PATIENCE_US);
        ck_assert_int_gt(r, 0);
        uint64_t began_us = loop_now_us();
        sd_event_dispatch(event);
        if (loop_now_us() - began_us > longest_us)
            longest_us = loop_now_us() - began_us;
    }
    /* What one of them takes in all is more; what a turn takes by itself is far less. */
    ck_assert_msg(longest_us < 1000000, "a turn took %llu us", (unsigned long long)longest_us);
    notify = notify_free(notify);
    for (size_t i = 0; i < ELEMENTS(paths); i++)
        forget(&sent[i]);
}
END_TEST

START_TEST(what_is_under_way_and_what_waits_can_be_dropped)
{
    struct sent sent[3 * NOTIFY_PER_ORIGIN];

    for (size_t i = 0; i < ELEMENTS(sent); i++)
        post(&sent[i], receivers[0].port, "/hang");
    LOOP_UNTIL(event, under_way == NOTIFY_PER_ORIGIN);
    loop_settle(event);
    notify = notify_free(notify);
    for (size_t i = 0; i < ELEMENTS(sent); i++) {
        ck_assert(!sent[i].is_done);
        forget(&sent[i]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("notify");
    TCase *tcase = tcase_create("answers");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup_patient, teardown);
    tcase_add_test(tcase, a_post_has_its_id_its_time_and_the_signature_of_both_and_the_body);
    tcase_add_test(tcase, without_a_secret_there_is_no_signature);
    tcase_add_loop_test(tcase, only_a_whole_head_with_a_status_of_200_to_299_is_an_acknowledgement,
                        0, ELEMENTS(answers));
    tcase_add_test(tcase, where_nobody_listens_it_fails_with_the_reason);
    tcase_add_loop_test(tcase, an_address_that_is_none_fails_and_goes_nowhere, 0,
                        ELEMENTS(addresses));
    tcase_add_test(tcase, what_has_nothing_to_say_fails_with_the_reason);
    tcase_add_test(tcase, a_receiver_that_hangs_holds_up_its_own_posts_alone);
    tcase_add_test(tcase, no_turn_of_the_loop_waits_for_a_receiver);
    tcase_add_test(tcase, what_is_under_way_and_what_waits_can_be_dropped);
    suite_add_tcase(suite, tcase);

    tcase = tcase_create("silence");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup_hasty, teardown);
    tcase_add_loop_test(tcase, a_receiver_that_does_not_answer_in_time_has_not_acknowledged, 0,
                        ELEMENTS(silent));
    tcase_add_test(tcase, each_post_has_its_own_time_not_what_those_before_it_have_left);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
