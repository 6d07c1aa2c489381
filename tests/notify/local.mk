# tests/notify — links notify, model, base and Check
tests_notify_tests = tests/notify/test_agreement tests/notify/test_notify tests/notify/test_secret
check_PROGRAMS += $(tests_notify_tests)
TESTS += $(tests_notify_tests)

tests_notify_test_agreement_CPPFLAGS = $(TEST_CPPFLAGS)
tests_notify_test_agreement_CFLAGS = $(TEST_CFLAGS)
tests_notify_test_agreement_LDADD = $(NOTIFY_LIBS) $(CHECK_LIBS)

tests_notify_test_notify_SOURCES = \
  tests/net/loop.h \
  tests/notify/receiver.c tests/notify/receiver.h \
  tests/notify/test_notify.c
tests_notify_test_notify_CPPFLAGS = $(TEST_CPPFLAGS)
tests_notify_test_notify_CFLAGS = $(TEST_CFLAGS)
tests_notify_test_notify_LDADD = $(NOTIFY_LIBS) $(CHECK_LIBS) -lpthread

tests_notify_test_secret_CPPFLAGS = $(TEST_CPPFLAGS)
tests_notify_test_secret_CFLAGS = $(TEST_CFLAGS)
tests_notify_test_secret_LDADD = $(NOTIFY_LIBS) $(CHECK_LIBS)
