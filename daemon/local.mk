# daemon/*.c — start up, feed inputs to the core, carry out its effects
noinst_LIBRARIES += libdaemon.a
libdaemon_a_SOURCES = \
  daemon/agents.c daemon/agents.h \
  daemon/calendars.c daemon/calendars.h \
  daemon/checkpoint_task.c daemon/checkpoint_task.h \
  daemon/clock.c daemon/clock.h \
  daemon/daemon.c daemon/daemon.h \
  daemon/dev.c daemon/dev.h \
  daemon/doctor.c daemon/doctor.h \
  daemon/effects.c daemon/effects.h \
  daemon/facts.c daemon/facts.h \
  daemon/history.c daemon/history.h \
  daemon/list_filter.c daemon/list_filter.h \
  daemon/logs.c daemon/logs.h \
  daemon/options.c daemon/options.h \
  daemon/pipeline.c daemon/pipeline.h \
  daemon/reload.c daemon/reload.h \
  daemon/report.c daemon/report.h \
  daemon/restore.c daemon/restore.h \
  daemon/ring.c daemon/ring.h \
  daemon/session.c daemon/session.h \
  daemon/settings.c daemon/settings.h \
  daemon/sight.c daemon/sight.h \
  daemon/snapshot_policy.c daemon/snapshot_policy.h \
  daemon/startup.c daemon/startup.h \
  daemon/streams.c daemon/streams.h \
  daemon/webhook_settings.c daemon/webhook_settings.h \
  daemon/webhooks.c daemon/webhooks.h \
  daemon/workers.c daemon/workers.h
libdaemon_a_CPPFLAGS = $(AM_CPPFLAGS) -DSYSCONFDIR='"$(sysconfdir)"' -DSBINDIR='"$(sbindir)"'

# The policy files, which a replay reads too.
noinst_LIBRARIES += libpolicyfiles.a
libpolicyfiles_a_SOURCES = \
  daemon/findings.c daemon/findings.h \
  daemon/roles.c daemon/roles.h \
  daemon/scheduling.c daemon/scheduling.h

DAEMON_LIBS = libdaemon.a libpolicyfiles.a liblog.a libstore.a libvault.a libnet.a libnotify.a $(CORE_LIBS) $(CURL_LIBS) \
  $(SYSTEMD_LIBS) $(SQLITE_LIBS) -lpthread

sbin_PROGRAMS += waferd
waferd_SOURCES = daemon/main.c
waferd_CPPFLAGS = $(libdaemon_a_CPPFLAGS)
waferd_LDADD = $(DAEMON_LIBS)

# What wafer execs for work that needs the state itself.
helperdir = $(libexecdir)/waferd
helper_PROGRAMS = waferd-doctor
waferd_doctor_SOURCES = daemon/doctor_main.c
waferd_doctor_CPPFLAGS = $(libdaemon_a_CPPFLAGS)
waferd_doctor_LDADD = $(DAEMON_LIBS)
