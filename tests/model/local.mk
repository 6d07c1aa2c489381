# tests/model — links model, base and Check alone
tests_model_tests = \
  tests/model/test_bind_read \
  tests/model/test_bind_write \
  tests/model/test_calendar \
  tests/model/test_examples \
  tests/model/test_job \
  tests/model/test_job_check \
  tests/model/test_url
check_PROGRAMS += $(tests_model_tests)
TESTS += $(tests_model_tests)
EXTRA_DIST += tests/model/errors.h

tests_model_test_bind_read_CPPFLAGS = $(TEST_CPPFLAGS)
tests_model_test_bind_read_CFLAGS = $(TEST_CFLAGS)
tests_model_test_bind_read_LDADD = $(MODEL_LIBS) $(CHECK_LIBS)

tests_model_test_bind_write_SOURCES = \
  tests/model/any_message.c tests/model/any_message.h tests/model/test_bind_write.c
tests_model_test_bind_write_CPPFLAGS = $(TEST_CPPFLAGS)
tests_model_test_bind_write_CFLAGS = $(TEST_CFLAGS)
tests_model_test_bind_write_LDADD = $(MODEL_LIBS) $(CHECK_LIBS)

tests_model_test_examples_CPPFLAGS = $(TEST_CPPFLAGS)
tests_model_test_examples_CFLAGS = $(TEST_CFLAGS)
tests_model_test_examples_LDADD = $(MODEL_LIBS) $(CHECK_LIBS)

tests_model_test_job_CPPFLAGS = $(TEST_CPPFLAGS)
tests_model_test_job_CFLAGS = $(TEST_CFLAGS)
tests_model_test_job_LDADD = $(MODEL_LIBS) $(CHECK_LIBS)

tests_model_test_job_check_CPPFLAGS = $(TEST_CPPFLAGS)
tests_model_test_job_check_CFLAGS = $(TEST_CFLAGS)
tests_model_test_job_check_LDADD = $(MODEL_LIBS) $(CHECK_LIBS)

tests_model_test_url_CPPFLAGS = $(TEST_CPPFLAGS)
tests_model_test_url_CFLAGS = $(TEST_CFLAGS)
tests_model_test_url_LDADD = $(MODEL_LIBS) $(CHECK_LIBS)

tests_model_test_calendar_CPPFLAGS = $(TEST_CPPFLAGS)
tests_model_test_calendar_CFLAGS = $(TEST_CFLAGS)
tests_model_test_calendar_LDADD = $(MODEL_LIBS) $(CHECK_LIBS)
