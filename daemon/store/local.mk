# daemon/store — journal, snapshots, history; SQLite
noinst_LIBRARIES += libstore.a
libstore_a_SOURCES = \
  daemon/store/backup.c \
  daemon/store/check.c \
  daemon/store/database.c daemon/store/database.h \
  daemon/store/event.c \
  daemon/store/frame.c daemon/store/frame.h \
  daemon/store/history.c daemon/store/history.h \
  daemon/store/inside.h \
  daemon/store/load.c \
  daemon/store/lock.c daemon/store/lock.h \
  daemon/store/query.c \
  daemon/store/reserve.c daemon/store/reserve.h \
  daemon/store/row.c daemon/store/row.h \
  daemon/store/schema.c daemon/store/schema.h \
  daemon/store/snapshot.c daemon/store/snapshot.h \
  daemon/store/store.c daemon/store/store.h \
  daemon/store/writer.c daemon/store/writer.h

# What a program that uses the store links, beside what the rest of it needs.
STORE_LIBS = libstore.a libproto.a $(BASE_LIBS) $(SQLITE_LIBS) $(PROTOBUF_C_LIBS) -lpthread
