# tests/fuzz — libFuzzer targets (./configure CC=clang --enable-fuzzing); run one with its seeds:
# tests/fuzz/fuzz_bind -max_total_time=60 CORPUS $(top_srcdir)/tests/fuzz/corpus/bind
fuzz_programs = tests/fuzz/fuzz_bind tests/fuzz/fuzz_frame tests/fuzz/fuzz_record \
  tests/fuzz/fuzz_trace
if FUZZING
noinst_PROGRAMS += $(fuzz_programs)
endif
fuzz_link = $(AM_LDFLAGS) -fsanitize=fuzzer

# YAML to messages and back.
tests_fuzz_fuzz_bind_LDFLAGS = $(fuzz_link)
tests_fuzz_fuzz_bind_LDADD = $(MODEL_LIBS)
EXTRA_DIST += \
  tests/fuzz/corpus/bind/cadence-and-set \
  tests/fuzz/corpus/bind/hostile \
  tests/fuzz/corpus/bind/job \
  tests/fuzz/corpus/bind/platform \
  tests/fuzz/corpus/bind/site

# Frames, and the messages in them.
tests_fuzz_fuzz_frame_LDFLAGS = $(fuzz_link)
tests_fuzz_fuzz_frame_LDADD = libnet.a $(MODEL_LIBS) $(SYSTEMD_LIBS)

# Records and snapshot items, as start-up reads them.
tests_fuzz_fuzz_record_LDFLAGS = $(fuzz_link)
tests_fuzz_fuzz_record_LDADD = $(STORE_LIBS)

# Workloads and records of failures, and what a replay makes of them.
tests_fuzz_fuzz_trace_LDFLAGS = $(fuzz_link)
tests_fuzz_fuzz_trace_LDADD = $(REPLAY_LIBS) -lm
EXTRA_DIST += \
  tests/fuzz/corpus/trace/failures \
  tests/fuzz/corpus/trace/philly \
  tests/fuzz/corpus/trace/swf \
  tests/fuzz/corpus/trace/swf.gz
