# tests/dst — core and engine in one modelled world
check_PROGRAMS += tests/dst/dst
tests_dst_dst_SOURCES = \
  tests/dst/clients.c \
  tests/dst/controller.c \
  tests/dst/dst.c \
  tests/dst/faults.c \
  tests/dst/hosts.c \
  tests/dst/ledger.c tests/dst/ledger.h \
  tests/dst/oracle.c \
  tests/dst/specs.c \
  tests/dst/vault.c tests/dst/vault.h \
  tests/dst/watch.c \
  tests/dst/webhooks.c \
  tests/dst/world.c tests/dst/world.h
tests_dst_dst_CPPFLAGS = $(TEST_CPPFLAGS)
tests_dst_dst_LDADD = libcore.a libpolicy.a $(ENGINE_LIBS)
dist_check_SCRIPTS += tests/dst/test_dst.sh
