#include "base/buffer.h"

#include <string.h>

#include "base/cleanup.h"
#include "tap.h"

START_TEST(what_is_appended_comes_out_in_order_however_it_is_taken)
{
    owned(buffer_done) struct buffer buffer = BUFFER_EMPTY;
    uint8_t next_in = 0, next_out = 0;

    for (int round = 0; round < 2000; round++) {
        for (int i = 0; i < round % 37; i++, next_in++)
            buffer_append(&buffer, &next_in, 1);
        size_t take = buffer.length < (size_t)(round % 41) ? buffer.length : (size_t)(round % 41);
        for (size_t i = 0; i < take; i++, next_out++)
            ck_assert_uint_eq(buffer_data(&buffer)[i], next_out);
        buffer_take(&buffer, take);
    }
    ck_assert_uint_eq((uint8_t)(next_out + buffer.length), next_in);
}
END_TEST

START_TEST(room_for_nothing_is_somewhere)
{
    owned(buffer_done) struct buffer buffer = BUFFER_EMPTY;

    ck_assert_ptr_nonnull(buffer_reserve(&buffer, 0));
    ck_assert_uint_eq(buffer.length, 0);
}
END_TEST

START_TEST(a_text_is_handed_over_and_leaves_the_buffer_empty)
{
    owned(buffer_done) struct buffer buffer = BUFFER_EMPTY;

    buffer_format(&buffer, "%d of %s", 7, "nine");
    owned(free) char *text = buffer_text(&buffer);
    ck_assert_str_eq(text, "7 of nine");
    ck_assert_uint_eq(buffer.length, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("buffer");
    TCase *tcase = tcase_create("buffer");

    tcase_add_test(tcase, what_is_appended_comes_out_in_order_however_it_is_taken);
    tcase_add_test(tcase, room_for_nothing_is_somewhere);
    tcase_add_test(tcase, a_text_is_handed_over_and_leaves_the_buffer_empty);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
