# tests/e2e — the whole product, from its command line
dist_check_SCRIPTS += tests/e2e/checkpoints.sh tests/e2e/clients.sh tests/e2e/kills.sh \
  tests/e2e/faults.sh tests/e2e/verbs.sh tests/e2e/order.sh tests/e2e/main.sh tests/e2e/cancel.sh \
  tests/e2e/notify.sh tests/e2e/schedule.sh tests/e2e/preempt.sh tests/e2e/fallback.sh tests/e2e/quotas.sh \
  tests/e2e/reserve.sh tests/e2e/roles.sh tests/e2e/cli.sh \
  tests/e2e/manual.sh
check_PROGRAMS += tests/e2e/pipelined
tests_e2e_pipelined_CPPFLAGS = $(TEST_CPPFLAGS)
tests_e2e_pipelined_LDADD = $(NET_LIBS)
check_PROGRAMS += tests/e2e/replayed
tests_e2e_replayed_CPPFLAGS = $(TEST_CPPFLAGS)
tests_e2e_replayed_LDADD = $(CORE_LIBS)
EXTRA_DIST += tests/e2e/lib.sh tests/e2e/soak.sh

# A web server that does what bad ones may do.
check_PROGRAMS += tests/notify/receiver_main
tests_notify_receiver_main_SOURCES = \
  tests/notify/receiver.c tests/notify/receiver.h tests/notify/receiver_main.c
tests_notify_receiver_main_LDADD = -lpthread
