#include "notify/secret.h"

#include <errno.h>

#include "base/memory.h"
#include "tap.h"

/* As published for receivers that check their library. */
START_TEST(a_signature_is_the_one_that_other_libraries_make)
{
    struct secret *secret;
    struct diag diag = { "" };
    char signature[SECRET_SIGNATURE_SIZE];

    ck_assert_int_eq(secret_parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n", &secret, &diag), 0);
    secret_sign(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, "{\"test\": 2432232314}",
                signature);
    ck_assert_str_eq(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    secret_free(secret);
}
END_TEST

static const struct {
    const char *text;
    int error;
} secrets[] = {
    { "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", 0 },
    { "  whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\r\n\n", 0 },
    { "whsec_"
      "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==",
      0 }, /* 64 bytes */
    { "", -EINVAL },
    { "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", -EINVAL },      /* of which kind? */
    { "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS", -EINVAL }, /* cut off */
    { "whsec_aHVudGVyMg==", -EINVAL },                    /* too short to be random */
    { "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw whsec_x", -EINVAL },
    { "whsec_MfKQ9r8GKYqrTwjUPD8I LPZIo2LaLaSw", -EINVAL },
    { "whsec_MfKQ9r8GKYqrTwjUPD8I_LPZIo2LaLaSw", -EINVAL },
    { "whsec_"
      "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
      -EINVAL }, /* 66 */
};

START_TEST(a_secret_is_24_to_64_bytes_in_base64_and_never_told)
{
    struct secret *secret = NULL;
    struct diag diag = { "" };

    ck_assert_int_eq(secret_parse(secrets[_i].text, &secret, &diag), secrets[_i].error);
    ck_assert_int_eq(secret != NULL, secrets[_i].error == 0);
    ck_assert_ptr_null(strstr(diag.text, "MfKQ"));
    secret_free(secret);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("secret");
    TCase *tcase = tcase_create("secret");

    tcase_add_test(tcase, a_signature_is_the_one_that_other_libraries_make);
    tcase_add_loop_test(tcase, a_secret_is_24_to_64_bytes_in_base64_and_never_told, 0,
                        ELEMENTS(secrets));
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
