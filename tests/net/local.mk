# tests/net — links net, model, base and Check
tests_net_tests = tests/net/test_bucket tests/net/test_client tests/net/test_frame \
  tests/net/test_link tests/net/test_listener tests/net/test_unpack
check_PROGRAMS += $(tests_net_tests)
TESTS += $(tests_net_tests)
EXTRA_DIST += tests/net/loop.h tests/net/place.h tests/net/raw.h

tests_net_test_bucket_CPPFLAGS = $(TEST_CPPFLAGS)
tests_net_test_bucket_CFLAGS = $(TEST_CFLAGS)
tests_net_test_bucket_LDADD = $(NET_LIBS) $(CHECK_LIBS)

tests_net_test_client_CPPFLAGS = $(TEST_CPPFLAGS)
tests_net_test_client_CFLAGS = $(TEST_CFLAGS)
tests_net_test_client_LDADD = $(NET_LIBS) $(CHECK_LIBS)

tests_net_test_frame_CPPFLAGS = $(TEST_CPPFLAGS)
tests_net_test_frame_CFLAGS = $(TEST_CFLAGS)
tests_net_test_frame_LDADD = $(NET_LIBS) $(CHECK_LIBS)

tests_net_test_link_CPPFLAGS = $(TEST_CPPFLAGS)
tests_net_test_link_CFLAGS = $(TEST_CFLAGS)
tests_net_test_link_LDADD = $(NET_LIBS) $(CHECK_LIBS)

tests_net_test_listener_CPPFLAGS = $(TEST_CPPFLAGS)
tests_net_test_listener_CFLAGS = $(TEST_CFLAGS)
tests_net_test_listener_LDADD = $(NET_LIBS) $(CHECK_LIBS)

tests_net_test_unpack_CPPFLAGS = $(TEST_CPPFLAGS)
tests_net_test_unpack_CFLAGS = $(TEST_CFLAGS)
tests_net_test_unpack_LDADD = $(NET_LIBS) $(CHECK_LIBS)
