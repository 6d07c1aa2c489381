# tests/replay — links replay and what is below it
tests_replay_tests = tests/replay/test_axis tests/replay/test_drive tests/replay/test_failures \
  tests/replay/test_measure tests/replay/test_picture tests/replay/test_rows \
  tests/replay/test_series tests/replay/test_trace
check_PROGRAMS += $(tests_replay_tests)
TESTS += $(tests_replay_tests)
tests_replay_libs = libreplay.a $(BASE_LIBS) $(CHECK_LIBS) -lm
tests_replay_core_libs = $(REPLAY_LIBS) $(CHECK_LIBS) -lm

tests_replay_test_axis_CPPFLAGS = $(TEST_CPPFLAGS)
tests_replay_test_axis_CFLAGS = $(TEST_CFLAGS)
tests_replay_test_axis_LDADD = $(tests_replay_libs)

tests_replay_test_picture_CPPFLAGS = $(TEST_CPPFLAGS)
tests_replay_test_picture_CFLAGS = $(TEST_CFLAGS)
tests_replay_test_picture_LDADD = $(tests_replay_libs)

tests_replay_test_rows_CPPFLAGS = $(TEST_CPPFLAGS)
tests_replay_test_rows_CFLAGS = $(TEST_CFLAGS)
tests_replay_test_rows_LDADD = $(tests_replay_libs)

tests_replay_test_series_CPPFLAGS = $(TEST_CPPFLAGS)
tests_replay_test_series_CFLAGS = $(TEST_CFLAGS)
tests_replay_test_series_LDADD = $(tests_replay_libs)

tests_replay_test_drive_CPPFLAGS = $(TEST_CPPFLAGS)
tests_replay_test_drive_CFLAGS = $(TEST_CFLAGS)
tests_replay_test_drive_LDADD = $(tests_replay_core_libs)

tests_replay_test_failures_SOURCES = tests/replay/test_failures.c tests/replay/file.h
tests_replay_test_failures_CPPFLAGS = $(TEST_CPPFLAGS)
tests_replay_test_failures_CFLAGS = $(TEST_CFLAGS)
tests_replay_test_failures_LDADD = $(tests_replay_core_libs)

tests_replay_test_measure_CPPFLAGS = $(TEST_CPPFLAGS)
tests_replay_test_measure_CFLAGS = $(TEST_CFLAGS)
tests_replay_test_measure_LDADD = $(tests_replay_libs)

tests_replay_test_trace_SOURCES = tests/replay/test_trace.c tests/replay/file.h
tests_replay_test_trace_CPPFLAGS = $(TEST_CPPFLAGS)
tests_replay_test_trace_CFLAGS = $(TEST_CFLAGS)
tests_replay_test_trace_LDADD = $(tests_replay_core_libs)
