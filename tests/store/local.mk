# tests/store — links the store, what is below it, and Check
tests_store_tests = \
  tests/store/test_store \
  tests/store/test_row \
  tests/store/test_damage \
  tests/store/test_snapshot \
  tests/store/test_history \
  tests/store/test_fault \
  tests/store/test_backup \
  tests/store/test_crash \
  tests/store/test_version
check_PROGRAMS += $(tests_store_tests)
TESTS += $(tests_store_tests)
tests_store_shared = tests/store/synthetic.c tests/store/synthetic.h
tests_store_faults = tests/store/fault_vfs.c tests/store/fault_vfs.h
tests_store_versions = tests/store/version.c tests/store/version.h
TEST_STORE_LIBS = $(STORE_LIBS) $(CHECK_LIBS)

tests_store_test_store_SOURCES = tests/store/test_store.c $(tests_store_shared)
tests_store_test_store_CPPFLAGS = $(TEST_CPPFLAGS)
tests_store_test_store_CFLAGS = $(TEST_CFLAGS)
tests_store_test_store_LDADD = $(TEST_STORE_LIBS)

tests_store_test_backup_SOURCES = tests/store/test_backup.c $(tests_store_shared)
tests_store_test_backup_CPPFLAGS = $(TEST_CPPFLAGS)
tests_store_test_backup_CFLAGS = $(TEST_CFLAGS)
tests_store_test_backup_LDADD = $(TEST_STORE_LIBS)

tests_store_test_row_SOURCES = tests/store/test_row.c $(tests_store_shared)
tests_store_test_row_CPPFLAGS = $(TEST_CPPFLAGS)
tests_store_test_row_CFLAGS = $(TEST_CFLAGS)
tests_store_test_row_LDADD = $(TEST_STORE_LIBS)

tests_store_test_damage_SOURCES = tests/store/test_damage.c $(tests_store_shared)
tests_store_test_damage_CPPFLAGS = $(TEST_CPPFLAGS)
tests_store_test_damage_CFLAGS = $(TEST_CFLAGS)
tests_store_test_damage_LDADD = $(TEST_STORE_LIBS)

tests_store_test_snapshot_SOURCES = tests/store/test_snapshot.c $(tests_store_shared) $(tests_store_faults)
tests_store_test_snapshot_CPPFLAGS = $(TEST_CPPFLAGS)
tests_store_test_snapshot_CFLAGS = $(TEST_CFLAGS)
tests_store_test_snapshot_LDADD = $(TEST_STORE_LIBS)

tests_store_test_history_SOURCES = tests/store/test_history.c $(tests_store_shared)
tests_store_test_history_CPPFLAGS = $(TEST_CPPFLAGS)
tests_store_test_history_CFLAGS = $(TEST_CFLAGS)
tests_store_test_history_LDADD = $(TEST_STORE_LIBS)

tests_store_test_fault_SOURCES = tests/store/test_fault.c $(tests_store_shared) $(tests_store_faults)
tests_store_test_fault_CPPFLAGS = $(TEST_CPPFLAGS)
tests_store_test_fault_CFLAGS = $(TEST_CFLAGS)
tests_store_test_fault_LDADD = $(TEST_STORE_LIBS)

tests_store_test_crash_SOURCES = tests/store/test_crash.c $(tests_store_shared) $(tests_store_faults)
tests_store_test_crash_CPPFLAGS = $(TEST_CPPFLAGS)
tests_store_test_crash_CFLAGS = $(TEST_CFLAGS)
tests_store_test_crash_LDADD = $(TEST_STORE_LIBS)

tests_store_test_version_SOURCES = tests/store/test_version.c $(tests_store_shared) $(tests_store_versions)
tests_store_test_version_CPPFLAGS = $(TEST_CPPFLAGS)
tests_store_test_version_CFLAGS = $(TEST_CFLAGS)
tests_store_test_version_LDADD = $(TEST_STORE_LIBS)

EXTRA_DIST += tests/store/v1/state.sql tests/store/v1/snapshot.hex tests/store/v1/expected.txt
