# tests/daemon — the pieces of the shell that need no whole daemon around them
tests_daemon_tests = \
  tests/daemon/test_clock \
  tests/daemon/test_facts \
  tests/daemon/test_logs \
  tests/daemon/test_options \
  tests/daemon/test_pipeline \
  tests/daemon/test_reload \
  tests/daemon/test_report \
  tests/daemon/test_ring \
  tests/daemon/test_settings \
  tests/daemon/test_streams
check_PROGRAMS += $(tests_daemon_tests)
TESTS += $(tests_daemon_tests)
dist_check_SCRIPTS += tests/daemon/test_start.sh
tests_daemon_libs = $(DAEMON_LIBS) $(CHECK_LIBS)

tests_daemon_test_clock_CPPFLAGS = $(TEST_CPPFLAGS)
tests_daemon_test_clock_CFLAGS = $(TEST_CFLAGS)
tests_daemon_test_clock_LDADD = $(tests_daemon_libs)

tests_daemon_test_facts_SOURCES = \
  tests/daemon/test_facts.c tests/store/synthetic.c tests/store/synthetic.h
tests_daemon_test_facts_CPPFLAGS = $(TEST_CPPFLAGS)
tests_daemon_test_facts_CFLAGS = $(TEST_CFLAGS)
tests_daemon_test_facts_LDADD = $(tests_daemon_libs)

tests_daemon_test_logs_CPPFLAGS = $(TEST_CPPFLAGS)
tests_daemon_test_logs_CFLAGS = $(TEST_CFLAGS)
tests_daemon_test_logs_LDADD = $(tests_daemon_libs)

tests_daemon_test_options_CPPFLAGS = $(TEST_CPPFLAGS)
tests_daemon_test_options_CFLAGS = $(TEST_CFLAGS)
tests_daemon_test_options_LDADD = $(tests_daemon_libs)

tests_daemon_test_pipeline_CPPFLAGS = $(TEST_CPPFLAGS)
tests_daemon_test_pipeline_CFLAGS = $(TEST_CFLAGS)
tests_daemon_test_pipeline_LDADD = $(tests_daemon_libs)

tests_daemon_test_report_CPPFLAGS = $(TEST_CPPFLAGS)
tests_daemon_test_report_CFLAGS = $(TEST_CFLAGS)
tests_daemon_test_report_LDADD = $(tests_daemon_libs)

tests_daemon_test_reload_CPPFLAGS = $(TEST_CPPFLAGS)
tests_daemon_test_reload_CFLAGS = $(TEST_CFLAGS)
tests_daemon_test_reload_LDADD = $(tests_daemon_libs)

tests_daemon_test_ring_CPPFLAGS = $(TEST_CPPFLAGS)
tests_daemon_test_ring_CFLAGS = $(TEST_CFLAGS)
tests_daemon_test_ring_LDADD = $(tests_daemon_libs)

tests_daemon_test_settings_CPPFLAGS = $(TEST_CPPFLAGS)
tests_daemon_test_settings_CFLAGS = $(TEST_CFLAGS)
tests_daemon_test_settings_LDADD = $(tests_daemon_libs)

tests_daemon_test_streams_CPPFLAGS = $(TEST_CPPFLAGS)
tests_daemon_test_streams_CFLAGS = $(TEST_CFLAGS)
tests_daemon_test_streams_LDADD = $(tests_daemon_libs)
