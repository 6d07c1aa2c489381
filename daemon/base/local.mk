# daemon/base — helpers that know no noun; libsodium's hash only
noinst_LIBRARIES += libbase.a
libbase_a_SOURCES = \
  daemon/base/buffer.c daemon/base/buffer.h \
  daemon/base/cleanup.h \
  daemon/base/date.c daemon/base/date.h \
  daemon/base/decimal.c daemon/base/decimal.h \
  daemon/base/diag.c daemon/base/diag.h \
  daemon/base/digest.c daemon/base/digest.h \
  daemon/base/duration.c daemon/base/duration.h \
  daemon/base/later.h \
  daemon/base/list.h \
  daemon/base/map.c daemon/base/map.h \
  daemon/base/memory.c daemon/base/memory.h \
  daemon/base/number.c daemon/base/number.h \
  daemon/base/random.c daemon/base/random.h \
  daemon/base/size.c daemon/base/size.h \
  daemon/base/sort.c daemon/base/sort.h \
  daemon/base/timestamp.c daemon/base/timestamp.h \
  daemon/base/utf8.c daemon/base/utf8.h \
  daemon/base/zone.c daemon/base/zone.h
