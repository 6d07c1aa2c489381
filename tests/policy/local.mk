# tests/policy — links policy, model and base
check_PROGRAMS += tests/policy/test_access
TESTS += tests/policy/test_access
tests_policy_test_access_CPPFLAGS = $(TEST_CPPFLAGS)
tests_policy_test_access_CFLAGS = $(TEST_CFLAGS)
tests_policy_test_access_LDADD = $(POLICY_LIBS) $(CHECK_LIBS)
