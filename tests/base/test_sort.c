#include "base/sort.h"

#include "base/memory.h"
#include "base/random.h"
#include "tap.h"

struct item {
    int key;
    size_t place; /* before */
    char more[7]; /* sizes need not be round */
} __attribute__((packed));

static unsigned comparisons;

static int by_key(const void *a, const void *b)
{
    const struct item *one = a, *other = b;

    comparisons++;
    return (one->key > other->key) - (one->key < other->key);
}

START_TEST(all_come_into_order_and_equals_stay_as_they_were)
{
    struct random random;
    struct item items[257];

    random_init(&random, 1);
    for (size_t count = 0; count <= ELEMENTS(items); count++) {
        for (size_t i = 0; i < count; i++)
            items[i] = (struct item){ (int)random_below(&random, 1 + count / 4), i, "" };
        sort_stable(items, count, sizeof(items[0]), by_key);
        for (size_t i = 1; i < count; i++) {
            ck_assert_int_le(items[i - 1].key, items[i].key);
            ck_assert(items[i - 1].key < items[i].key || items[i - 1].place < items[i].place);
        }
    }
}
END_TEST

START_TEST(what_is_in_order_costs_one_comparison_an_item)
{
    struct item items[100];

    for (int i = 0; i < (int)ELEMENTS(items); i++)
        items[i] = (struct item){ i, 0, "" };
    comparisons = 0;
    sort_stable(items, ELEMENTS(items), sizeof(items[0]), by_key);
    ck_assert_uint_lt(comparisons, ELEMENTS(items));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sort");
    TCase *tcase = tcase_create("sort");

    tcase_add_test(tcase, all_come_into_order_and_equals_stay_as_they_were);
    tcase_add_test(tcase, what_is_in_order_costs_one_comparison_an_item);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
