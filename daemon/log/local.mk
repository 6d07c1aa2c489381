# daemon/log — what operators read, from waferd and wafersim alike; the journal of systemd
noinst_LIBRARIES += liblog.a
liblog_a_SOURCES = daemon/log/log.c daemon/log/log.h
