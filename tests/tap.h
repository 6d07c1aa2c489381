/* tap — run one Check suite and print TAP, which automake's tap-driver counts test by test. */
#ifndef WAFERD_TESTS_TAP_H
#define WAFERD_TESTS_TAP_H

#include <check.h>
#include <stdlib.h>

static inline int tap_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);

    srunner_set_tap(runner, "-");
    srunner_run_all(runner, CK_SILENT);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
