# tests/bench — how fast it is, beside what the machine can do; `make bench`, never `make check`
tests_bench_programs = \
  tests/bench/limits \
  tests/bench/load \
  tests/bench/commands \
  tests/bench/passes \
  tests/bench/steps
EXTRA_PROGRAMS += $(tests_bench_programs)
tests_bench_shared = tests/bench/measure.c tests/bench/measure.h
tests_bench_request = tests/bench/job_request.c tests/bench/job_request.h
tests_bench_cppflags = $(AM_CPPFLAGS) -I$(top_srcdir)/tests/bench

tests_bench_limits_SOURCES = tests/bench/limits.c $(tests_bench_shared) $(tests_bench_request)
tests_bench_limits_CPPFLAGS = $(tests_bench_cppflags)
tests_bench_limits_LDADD = $(MODEL_LIBS) $(SYSTEMD_LIBS) $(SQLITE_LIBS)

tests_bench_load_SOURCES = tests/bench/load.c $(tests_bench_shared) $(tests_bench_request)
tests_bench_load_CPPFLAGS = $(tests_bench_cppflags)
tests_bench_load_LDADD = libnet.a $(MODEL_LIBS) $(SYSTEMD_LIBS)

tests_bench_commands_SOURCES = tests/bench/commands.c tests/bench/loop_watch.h $(tests_bench_shared)
tests_bench_commands_CPPFLAGS = $(tests_bench_cppflags)
tests_bench_commands_LDADD = libnet.a $(MODEL_LIBS) $(SYSTEMD_LIBS)

tests_bench_passes_SOURCES = tests/bench/passes.c $(tests_bench_shared)
tests_bench_passes_CPPFLAGS = $(tests_bench_cppflags)
tests_bench_passes_LDADD = $(REPLAY_LIBS)

tests_bench_steps_SOURCES = tests/bench/steps.c $(tests_bench_shared) $(tests_bench_request)
tests_bench_steps_CPPFLAGS = $(tests_bench_cppflags)
tests_bench_steps_LDADD = $(ENGINE_LIBS)

# Preloaded into waferd, so a shared object; it is the only one here.
tests/bench/loop_watch.so: tests/bench/loop_watch.c tests/bench/loop_watch.h
	$(AM_V_CCLD)$(MKDIR_P) tests/bench && \
	$(CC) $(tests_bench_cppflags) $(WARN_CFLAGS) $(CFLAGS) -fPIC -shared -o $@ $(top_srcdir)/tests/bench/loop_watch.c -ldl

# A table, and bench.json. On a quiet machine, or the figures are of what else runs.
bench: all
	$(MAKE) $(AM_MAKEFLAGS) $(tests_bench_programs) tests/bench/loop_watch.so tests/dst/dst
	$(AM_TESTS_ENVIRONMENT) $(SHELL) $(top_srcdir)/tests/bench/main.sh
.PHONY: bench
CLEANFILES += bench.json tests/bench/loop_watch.so $(tests_bench_programs)
EXTRA_DIST += tests/bench/main.sh tests/bench/null.yaml tests/bench/long.yaml tests/bench/idle.yaml \
  tests/bench/loop_watch.c
