# tests/core — links core, model and base
tests_core_tests = tests/core/test_property tests/core/test_scenarios
check_PROGRAMS += $(tests_core_tests)
TESTS += $(tests_core_tests)
EXTRA_DIST += tests/core/scenarios

tests_core_test_scenarios_SOURCES = \
  tests/core/holders.c tests/core/holders.h \
  tests/core/render.c tests/core/render.h \
  tests/core/scenario.c tests/core/scenario.h \
  tests/core/test_scenarios.c
tests_core_test_scenarios_CPPFLAGS = $(TEST_CPPFLAGS)
tests_core_test_scenarios_CFLAGS = $(TEST_CFLAGS)
tests_core_test_scenarios_LDADD = $(CORE_LIBS) $(CHECK_LIBS)

check_PROGRAMS += tests/core/test_requests
TESTS += tests/core/test_requests
tests_core_test_requests_CPPFLAGS = $(TEST_CPPFLAGS)
tests_core_test_requests_CFLAGS = $(TEST_CFLAGS)
tests_core_test_requests_LDADD = $(CORE_LIBS) $(CHECK_LIBS)

tests_core_test_property_SOURCES = \
  tests/core/holders.c tests/core/holders.h \
  tests/core/render.c tests/core/render.h \
  tests/core/scenario.c tests/core/scenario.h \
  tests/core/test_property.c
tests_core_test_property_CPPFLAGS = $(TEST_CPPFLAGS)
tests_core_test_property_CFLAGS = $(TEST_CFLAGS)
tests_core_test_property_LDADD = $(CORE_LIBS) $(CHECK_LIBS)

check_PROGRAMS += tests/core/test_deliveries
TESTS += tests/core/test_deliveries
tests_core_test_deliveries_SOURCES = \
  tests/core/holders.c tests/core/holders.h \
  tests/core/render.c tests/core/render.h \
  tests/core/scenario.c tests/core/scenario.h \
  tests/core/test_deliveries.c
tests_core_test_deliveries_CPPFLAGS = $(TEST_CPPFLAGS)
tests_core_test_deliveries_CFLAGS = $(TEST_CFLAGS)
tests_core_test_deliveries_LDADD = $(CORE_LIBS) $(CHECK_LIBS)

check_PROGRAMS += tests/core/test_scheduler
TESTS += tests/core/test_scheduler
tests_core_test_scheduler_CPPFLAGS = $(TEST_CPPFLAGS)
tests_core_test_scheduler_CFLAGS = $(TEST_CFLAGS)
tests_core_test_scheduler_LDADD = $(CORE_LIBS) $(CHECK_LIBS)

check_PROGRAMS += tests/core/test_score
TESTS += tests/core/test_score
tests_core_test_score_CPPFLAGS = $(TEST_CPPFLAGS)
tests_core_test_score_CFLAGS = $(TEST_CFLAGS)
tests_core_test_score_LDADD = $(CORE_LIBS) $(CHECK_LIBS) -lm
