# tests/sim — parts by themselves, and the real process from the other side
tests_sim_tests = tests/sim/test_clock tests/sim/test_logs tests/sim/test_pace \
  tests/sim/test_wafersim
check_PROGRAMS += $(tests_sim_tests)
TESTS += $(tests_sim_tests)
EXTRA_DIST += tests/sim/controller.h

tests_sim_test_clock_CPPFLAGS = $(TEST_CPPFLAGS)
tests_sim_test_clock_CFLAGS = $(TEST_CFLAGS)
tests_sim_test_clock_LDADD = $(SIM_LIBS) $(CHECK_LIBS)

tests_sim_test_logs_CPPFLAGS = $(TEST_CPPFLAGS)
tests_sim_test_logs_CFLAGS = $(TEST_CFLAGS)
tests_sim_test_logs_LDADD = $(SIM_LIBS) $(CHECK_LIBS)

tests_sim_test_pace_CPPFLAGS = $(TEST_CPPFLAGS)
tests_sim_test_pace_CFLAGS = $(TEST_CFLAGS)
tests_sim_test_pace_LDADD = $(SIM_LIBS) $(CHECK_LIBS)

tests_sim_test_wafersim_CPPFLAGS = $(TEST_CPPFLAGS)
tests_sim_test_wafersim_CFLAGS = $(TEST_CFLAGS)
tests_sim_test_wafersim_LDADD = $(SIM_LIBS) $(CHECK_LIBS)
EXTRA_tests_sim_test_wafersim_DEPENDENCIES = wafersim
