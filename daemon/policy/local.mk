# daemon/policy — who may do what; pure
noinst_LIBRARIES += libpolicy.a
libpolicy_a_SOURCES = daemon/policy/access.c daemon/policy/access.h
POLICY_LIBS = libpolicy.a $(MODEL_LIBS)
