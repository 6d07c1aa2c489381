# tests/engine — links engine and what is below it
tests_engine_tests = tests/engine/test_training tests/engine/test_model tests/engine/test_agent \
  tests/engine/test_run tests/engine/test_lease
check_PROGRAMS += $(tests_engine_tests)
TESTS += $(tests_engine_tests)

tests_engine_world = tests/engine/world.c tests/engine/world.h

tests_engine_test_training_CPPFLAGS = $(TEST_CPPFLAGS)
tests_engine_test_training_CFLAGS = $(TEST_CFLAGS)
tests_engine_test_training_LDADD = $(ENGINE_LIBS) $(CHECK_LIBS)

tests_engine_test_model_SOURCES = tests/engine/test_model.c $(tests_engine_world)
tests_engine_test_model_CPPFLAGS = $(TEST_CPPFLAGS)
tests_engine_test_model_CFLAGS = $(TEST_CFLAGS)
tests_engine_test_model_LDADD = $(ENGINE_LIBS) $(CHECK_LIBS)

tests_engine_test_agent_SOURCES = tests/engine/test_agent.c $(tests_engine_world)
tests_engine_test_agent_CPPFLAGS = $(TEST_CPPFLAGS)
tests_engine_test_agent_CFLAGS = $(TEST_CFLAGS)
tests_engine_test_agent_LDADD = $(ENGINE_LIBS) $(CHECK_LIBS)

tests_engine_test_run_SOURCES = tests/engine/test_run.c $(tests_engine_world)
tests_engine_test_run_CPPFLAGS = $(TEST_CPPFLAGS)
tests_engine_test_run_CFLAGS = $(TEST_CFLAGS)
tests_engine_test_run_LDADD = $(ENGINE_LIBS) $(CHECK_LIBS)

tests_engine_test_lease_CPPFLAGS = $(TEST_CPPFLAGS)
tests_engine_test_lease_CFLAGS = $(TEST_CFLAGS)
tests_engine_test_lease_LDADD = $(ENGINE_LIBS) $(CHECK_LIBS)
