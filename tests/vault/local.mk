# tests/vault
tests_vault_tests = tests/vault/test_checkpoint tests/vault/test_crash tests/vault/test_floor \
  tests/vault/test_log
check_PROGRAMS += $(tests_vault_tests)
TESTS += $(tests_vault_tests)
EXTRA_DIST += tests/scratch.h tests/vault/place.h
tests_vault_libs = $(VAULT_LIBS) $(BASE_LIBS) $(PROTOBUF_C_LIBS) $(CHECK_LIBS)

tests_vault_test_checkpoint_CPPFLAGS = $(TEST_CPPFLAGS)
tests_vault_test_checkpoint_CFLAGS = $(TEST_CFLAGS)
tests_vault_test_checkpoint_LDADD = $(tests_vault_libs)

tests_vault_test_crash_CPPFLAGS = $(TEST_CPPFLAGS)
tests_vault_test_crash_CFLAGS = $(TEST_CFLAGS)
tests_vault_test_crash_LDADD = $(tests_vault_libs)

tests_vault_test_floor_CPPFLAGS = $(TEST_CPPFLAGS)
tests_vault_test_floor_CFLAGS = $(TEST_CFLAGS)
tests_vault_test_floor_LDADD = $(tests_vault_libs)

tests_vault_test_log_CPPFLAGS = $(TEST_CPPFLAGS)
tests_vault_test_log_CFLAGS = $(TEST_CFLAGS)
tests_vault_test_log_LDADD = $(tests_vault_libs)
