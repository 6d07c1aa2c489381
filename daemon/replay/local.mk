# daemon/replay — the core driven by a trace
noinst_LIBRARIES += libreplay.a
libreplay_a_SOURCES = \
  daemon/replay/axis.c daemon/replay/axis.h \
  daemon/replay/picture.c daemon/replay/picture.h \
  daemon/replay/rows.c daemon/replay/rows.h \
  daemon/replay/series.c daemon/replay/series.h \
  daemon/replay/svg.c daemon/replay/svg.h
