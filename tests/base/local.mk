# tests/base — links base and Check alone
tests_base_tests = tests/base/test_buffer tests/base/test_map
check_PROGRAMS += $(tests_base_tests)
TESTS += $(tests_base_tests)
TEST_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
TEST_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)

tests_base_test_buffer_CPPFLAGS = $(TEST_CPPFLAGS)
tests_base_test_buffer_CFLAGS = $(TEST_CFLAGS)
tests_base_test_buffer_LDADD = $(BASE_LIBS) $(CHECK_LIBS)

tests_base_test_map_CPPFLAGS = $(TEST_CPPFLAGS)
tests_base_test_map_CFLAGS = $(TEST_CFLAGS)
tests_base_test_map_LDADD = $(BASE_LIBS) $(CHECK_LIBS)
