# tests/net — links net, model, base and Check
tests_net_tests = tests/net/test_link
check_PROGRAMS += $(tests_net_tests)
TESTS += $(tests_net_tests)
EXTRA_DIST += tests/net/loop.h tests/net/raw.h

tests_net_test_link_CPPFLAGS = $(TEST_CPPFLAGS)
tests_net_test_link_CFLAGS = $(TEST_CFLAGS)
tests_net_test_link_LDADD = $(NET_LIBS) $(CHECK_LIBS)
