# daemon/base — helpers that know no noun; libsodium's hash only
noinst_LIBRARIES += libbase.a
libbase_a_SOURCES = \
  daemon/base/buffer.c daemon/base/buffer.h \
  daemon/base/cleanup.h \
  daemon/base/diag.c daemon/base/diag.h \
  daemon/base/digest.c daemon/base/digest.h \
  daemon/base/list.h \
  daemon/base/map.c daemon/base/map.h \
  daemon/base/memory.c daemon/base/memory.h \
  daemon/base/random.c daemon/base/random.h
