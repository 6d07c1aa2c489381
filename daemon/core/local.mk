# daemon/core — the state machine; pure
noinst_LIBRARIES += libcore.a
libcore_a_SOURCES = \
  daemon/core/accounts.c daemon/core/accounts.h \
  daemon/core/apply.c \
  daemon/core/attempt_state.c \
  daemon/core/attempts.c \
  daemon/core/backfill.c \
  daemon/core/check.c \
  daemon/core/checkpoints.c \
  daemon/core/core.c daemon/core/core.h \
  daemon/core/deliveries.c \
  daemon/core/dependencies.c daemon/core/dependencies.h \
  daemon/core/effects.c \
  daemon/core/fallback.c daemon/core/fallback.h \
  daemon/core/forecast.c daemon/core/forecast.h \
  daemon/core/hash.c \
  daemon/core/hosts.c \
  daemon/core/lanes.c daemon/core/lanes.h \
  daemon/core/objects.c \
  daemon/core/origins.c \
  daemon/core/request.c daemon/core/request.h \
  daemon/core/request_admin.c \
  daemon/core/request_change.c \
  daemon/core/request_checkpoint.c \
  daemon/core/request_explain.c \
  daemon/core/request_explain_system.c \
  daemon/core/request_plan.c \
  daemon/core/request_quota.c \
  daemon/core/request_reserve.c \
  daemon/core/request_show.c \
  daemon/core/request_resume.c \
  daemon/core/request_submit.c \
  daemon/core/request_update.c \
  daemon/core/quotas.c daemon/core/quotas.h \
  daemon/core/reservations.c \
  daemon/core/reserved.c daemon/core/reserved.h \
  daemon/core/retention.c \
  daemon/core/schedule.c daemon/core/schedule.h \
  daemon/core/meters.c daemon/core/meters.h \
  daemon/core/preemption.c daemon/core/preemption.h \
  daemon/core/profile.c daemon/core/profile.h \
  daemon/core/scheduler.c daemon/core/scheduler.h daemon/core/scheduler_inside.h \
  daemon/core/score.c daemon/core/score.h \
  daemon/core/state.h \
  daemon/core/submission.h \
  daemon/core/timers.c daemon/core/timers.h \
  daemon/core/trace.c daemon/core/trace.h \
  daemon/core/view.c \
  daemon/core/waiting.c daemon/core/waiting.h \
  daemon/core/windows.c
CORE_LIBS = libcore.a $(POLICY_LIBS)
