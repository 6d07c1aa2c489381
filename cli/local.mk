# cli — the wafer program; net, model and base: the wire is its contract
noinst_LIBRARIES += libcli.a
libcli_a_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) -DHELPERDIR='"$(libexecdir)/waferd"'
libcli_a_SOURCES = \
  cli/arguments.c cli/arguments.h \
  cli/change.c \
  cli/checkpoint.c \
  cli/command.c cli/command.h \
  cli/completion.c \
  cli/config.c \
  cli/connection.c cli/connection.h \
  cli/diff.c \
  cli/doctor.c \
  cli/event_line.c cli/event_line.h \
  cli/events.c \
  cli/explain.c \
  cli/explanation.c cli/explanation.h \
  cli/follow.c cli/follow.h \
  cli/help.c \
  cli/helper.c cli/helper.h \
  cli/item_key.c cli/item_key.h \
  cli/job_filter.c cli/job_filter.h \
  cli/job_list.c cli/job_list.h \
  cli/job_page.c cli/job_page.h \
  cli/job_text.c cli/job_text.h \
  cli/list.c \
  cli/list_poll.c cli/list_poll.h \
  cli/list_watch.c cli/list_watch.h \
  cli/log_lines.c cli/log_lines.h \
  cli/logs.c \
  cli/message.c cli/message.h \
  cli/moment.c cli/moment.h \
  cli/noun.c cli/noun.h \
  cli/output.c cli/output.h \
  cli/page.c cli/page.h \
  cli/plan.c cli/plan_page.h \
  cli/pager.c cli/pager.h \
  cli/progress.c cli/progress.h \
  cli/proxy.c \
  cli/queue.c \
  cli/quota.c \
  cli/reservation.c \
  cli/replay.c \
  cli/report.c cli/report.h \
  cli/resume.c \
  cli/run.h \
  cli/schema.c \
  cli/screen.c cli/screen.h \
  cli/settings.c cli/settings.h \
  cli/show.c \
  cli/spec.h \
  cli/ssh.c cli/ssh.h \
  cli/submission.c cli/submission.h \
  cli/submit.c \
  cli/system.c \
  cli/table.c cli/table.h \
  cli/targets.c cli/targets.h \
  cli/text.c cli/text.h \
  cli/top.c \
  cli/top_frame.c cli/top_frame.h \
  cli/units.c cli/units.h \
  cli/user.c cli/user.h \
  cli/verbs.c \
  cli/version.c \
  cli/wait.c \
  cli/watch.c cli/watch.h \
  cli/whoami.c

CLI_LIBS = libcli.a $(NET_LIBS) $(MODEL_LIBS)

bin_PROGRAMS += wafer
wafer_CPPFLAGS = $(libcli_a_CPPFLAGS)
wafer_SOURCES = cli/main.c
wafer_LDADD = $(CLI_LIBS)

# Where each shell looks for completions by itself.
bashcompletiondir = $(datadir)/bash-completion/completions
nodist_bashcompletion_DATA = cli/completions/wafer
zshcompletiondir = $(datadir)/zsh/site-functions
nodist_zshcompletion_DATA = cli/completions/_wafer
fishcompletiondir = $(datadir)/fish/vendor_completions.d
nodist_fishcompletion_DATA = cli/completions/wafer.fish
CLEANFILES += $(nodist_bashcompletion_DATA) $(nodist_zshcompletion_DATA) $(nodist_fishcompletion_DATA)
cli_complete = $(AM_V_GEN)$(MKDIR_P) cli/completions && ./wafer$(EXEEXT) completion
cli/completions/wafer: wafer$(EXEEXT)
	$(cli_complete) bash >$@
cli/completions/_wafer: wafer$(EXEEXT)
	$(cli_complete) zsh >$@
cli/completions/wafer.fish: wafer$(EXEEXT)
	$(cli_complete) fish >$@
