# tests/base — links base and Check alone
tests_base_tests = \
  tests/base/test_buffer \
  tests/base/test_decimal \
  tests/base/test_duration \
  tests/base/test_map \
  tests/base/test_size \
  tests/base/test_sort \
  tests/base/test_timestamp \
  tests/base/test_utf8 \
  tests/base/test_zone
check_PROGRAMS += $(tests_base_tests)
TESTS += $(tests_base_tests)
TEST_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
TEST_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)

tests_base_test_buffer_CPPFLAGS = $(TEST_CPPFLAGS)
tests_base_test_buffer_CFLAGS = $(TEST_CFLAGS)
tests_base_test_buffer_LDADD = $(BASE_LIBS) $(CHECK_LIBS)

tests_base_test_decimal_CPPFLAGS = $(TEST_CPPFLAGS)
tests_base_test_decimal_CFLAGS = $(TEST_CFLAGS)
tests_base_test_decimal_LDADD = $(BASE_LIBS) $(CHECK_LIBS)

tests_base_test_duration_CPPFLAGS = $(TEST_CPPFLAGS)
tests_base_test_duration_CFLAGS = $(TEST_CFLAGS)
tests_base_test_duration_LDADD = $(BASE_LIBS) $(CHECK_LIBS)

tests_base_test_map_CPPFLAGS = $(TEST_CPPFLAGS)
tests_base_test_map_CFLAGS = $(TEST_CFLAGS)
tests_base_test_map_LDADD = $(BASE_LIBS) $(CHECK_LIBS)

tests_base_test_size_CPPFLAGS = $(TEST_CPPFLAGS)
tests_base_test_size_CFLAGS = $(TEST_CFLAGS)
tests_base_test_size_LDADD = $(BASE_LIBS) $(CHECK_LIBS)

tests_base_test_sort_CPPFLAGS = $(TEST_CPPFLAGS)
tests_base_test_sort_CFLAGS = $(TEST_CFLAGS)
tests_base_test_sort_LDADD = $(BASE_LIBS) $(CHECK_LIBS)

tests_base_test_timestamp_CPPFLAGS = $(TEST_CPPFLAGS)
tests_base_test_timestamp_CFLAGS = $(TEST_CFLAGS)
tests_base_test_timestamp_LDADD = $(BASE_LIBS) $(CHECK_LIBS)

tests_base_test_utf8_CPPFLAGS = $(TEST_CPPFLAGS)
tests_base_test_utf8_CFLAGS = $(TEST_CFLAGS)
tests_base_test_utf8_LDADD = $(BASE_LIBS) $(CHECK_LIBS)

EXTRA_DIST += tests/zone_file.h
tests_base_test_zone_CPPFLAGS = $(TEST_CPPFLAGS)
tests_base_test_zone_CFLAGS = $(TEST_CFLAGS)
tests_base_test_zone_LDADD = $(BASE_LIBS) $(CHECK_LIBS)
