# tests/cli — the command line against a scripted controller; its pure parts against Check
check_PROGRAMS += tests/cli/fake_server
tests_cli_fake_server_CPPFLAGS = $(TEST_CPPFLAGS)
tests_cli_fake_server_LDADD = $(CLI_LIBS)

dist_check_SCRIPTS += tests/cli/test_usage.sh tests/cli/test_screens.sh tests/cli/test_jobs.sh \
  tests/cli/test_verbs.sh tests/cli/test_output.sh tests/cli/test_terminal.sh tests/cli/test_formats.sh \
  tests/cli/test_schema.sh tests/cli/test_completion.sh tests/cli/test_config.sh tests/cli/test_ssh.sh tests/cli/test_replay.sh
EXTRA_DIST += tests/cli/lib.sh tests/cli/validate.py

tests_cli_tests = tests/cli/test_log_lines tests/cli/test_text tests/cli/test_units tests/cli/test_progress
check_PROGRAMS += $(tests_cli_tests)
TESTS += $(tests_cli_tests)

tests_cli_test_log_lines_CPPFLAGS = $(TEST_CPPFLAGS) -I$(top_srcdir)
tests_cli_test_log_lines_CFLAGS = $(TEST_CFLAGS)
tests_cli_test_log_lines_LDADD = libcli.a $(BASE_LIBS) $(CHECK_LIBS)

tests_cli_test_text_CPPFLAGS = $(TEST_CPPFLAGS) -I$(top_srcdir)
tests_cli_test_text_CFLAGS = $(TEST_CFLAGS)
tests_cli_test_text_LDADD = libcli.a $(BASE_LIBS) $(CHECK_LIBS)

tests_cli_test_units_CPPFLAGS = $(TEST_CPPFLAGS) -I$(top_srcdir)
tests_cli_test_units_CFLAGS = $(TEST_CFLAGS)
tests_cli_test_units_LDADD = libcli.a $(BASE_LIBS) $(CHECK_LIBS)

tests_cli_test_progress_CPPFLAGS = $(TEST_CPPFLAGS) -I$(top_srcdir)
tests_cli_test_progress_CFLAGS = $(TEST_CFLAGS)
tests_cli_test_progress_LDADD = $(CLI_LIBS) $(CHECK_LIBS)
