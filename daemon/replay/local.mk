# daemon/replay — the core driven by a trace
noinst_LIBRARIES += libreplay.a
libreplay_a_SOURCES = \
  daemon/replay/answer.c daemon/replay/answer.h \
  daemon/replay/axis.c daemon/replay/axis.h \
  daemon/replay/drive.c daemon/replay/drive.h \
  daemon/replay/failures.c daemon/replay/failures.h \
  daemon/replay/lines.c daemon/replay/lines.h \
  daemon/replay/measure.c daemon/replay/measure.h \
  daemon/replay/options.c daemon/replay/options.h \
  daemon/replay/picture.c daemon/replay/picture.h \
  daemon/replay/places.c daemon/replay/places.h \
  daemon/replay/report.c daemon/replay/report.h \
  daemon/replay/rows.c daemon/replay/rows.h \
  daemon/replay/series.c daemon/replay/series.h \
  daemon/replay/svg.c daemon/replay/svg.h \
  daemon/replay/trace.c daemon/replay/trace.h daemon/replay/trace_inside.h \
  daemon/replay/trace_philly.c \
  daemon/replay/trace_swf.c \
  daemon/replay/usage.c daemon/replay/usage.h
REPLAY_LIBS = libreplay.a $(CORE_LIBS) $(ZLIB_LIBS)

helper_PROGRAMS += wafer-replay
wafer_replay_SOURCES = daemon/replay/main.c
wafer_replay_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/daemon
wafer_replay_LDADD = libpolicyfiles.a $(REPLAY_LIBS)
