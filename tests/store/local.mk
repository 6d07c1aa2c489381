# tests/store — links the store, what is below it, and Check
tests_store_tests = tests/store/test_store
check_PROGRAMS += $(tests_store_tests)
TESTS += $(tests_store_tests)
tests_store_helpers = tests/store/synthetic.c tests/store/synthetic.h
TEST_STORE_LIBS = $(STORE_LIBS) $(CHECK_LIBS)

tests_store_test_store_SOURCES = tests/store/test_store.c $(tests_store_helpers)
tests_store_test_store_CPPFLAGS = $(TEST_CPPFLAGS)
tests_store_test_store_CFLAGS = $(TEST_CFLAGS)
tests_store_test_store_LDADD = $(TEST_STORE_LIBS)
