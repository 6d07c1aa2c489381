# daemon/engine — what a simulated system does; pure: links model and base
noinst_LIBRARIES += libengine.a
libengine_a_SOURCES = \
  daemon/engine/agent.c daemon/engine/agent.h daemon/engine/agent_parts.h \
  daemon/engine/agent_report.c \
  daemon/engine/cadence.c daemon/engine/cadence.h \
  daemon/engine/compile.c daemon/engine/compile.h \
  daemon/engine/effects.c daemon/engine/effects.h \
  daemon/engine/heap.c daemon/engine/heap.h \
  daemon/engine/lease.c daemon/engine/lease.h \
  daemon/engine/loss.c daemon/engine/loss.h \
  daemon/engine/metrics.c daemon/engine/metrics.h \
  daemon/engine/phases.c daemon/engine/phases.h \
  daemon/engine/rate.c daemon/engine/rate.h \
  daemon/engine/run.c daemon/engine/run.h daemon/engine/run_parts.h \
  daemon/engine/run_messages.c daemon/engine/run_save.c daemon/engine/run_steps.c \
  daemon/engine/trainer_log.c daemon/engine/trainer_log.h \
  daemon/engine/training.c daemon/engine/training.h \
  daemon/engine/units.c daemon/engine/units.h \
  daemon/engine/workload.c daemon/engine/workload.h
ENGINE_LIBS = libengine.a $(MODEL_LIBS)
