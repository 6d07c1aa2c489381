# daemon/sim — wafersim: the process around the engine; sd-event
sbin_PROGRAMS += wafersim
noinst_LIBRARIES += libsim.a
libsim_a_SOURCES = \
  daemon/sim/clock.c daemon/sim/clock.h \
  daemon/sim/host.c daemon/sim/host.h \
  daemon/sim/logs.c daemon/sim/logs.h \
  daemon/sim/notices.c daemon/sim/notices.h \
  daemon/sim/options.c daemon/sim/options.h \
  daemon/sim/pace.c daemon/sim/pace.h \
  daemon/sim/platforms.c daemon/sim/platforms.h \
  daemon/sim/shards.c daemon/sim/shards.h \
  daemon/sim/workers.c daemon/sim/workers.h

SIM_LIBS = libsim.a liblog.a libnet.a libvault.a libengine.a $(MODEL_LIBS) $(SYSTEMD_LIBS) -lpthread

wafersim_SOURCES = daemon/sim/main.c
wafersim_LDADD = $(SIM_LIBS)
