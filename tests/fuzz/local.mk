# tests/fuzz

# Records and snapshot items, as start-up reads them.
if FUZZING
noinst_PROGRAMS += tests/fuzz/fuzz_record
endif
tests_fuzz_fuzz_record_SOURCES = tests/fuzz/fuzz_record.c
tests_fuzz_fuzz_record_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_record_LDADD = $(STORE_LIBS)
