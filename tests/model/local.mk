# tests/model — links model, base and Check alone
tests_model_tests = tests/model/test_bind_read
check_PROGRAMS += $(tests_model_tests)
TESTS += $(tests_model_tests)
EXTRA_DIST += tests/model/errors.h

tests_model_test_bind_read_CPPFLAGS = $(TEST_CPPFLAGS)
tests_model_test_bind_read_CFLAGS = $(TEST_CFLAGS)
tests_model_test_bind_read_LDADD = $(MODEL_LIBS) $(CHECK_LIBS)
