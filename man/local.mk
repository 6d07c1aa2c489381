# man — what people read; tests/man holds it against what the programs say
dist_man_MANS += man/wafer.1 man/wafer-submit.1 man/wafer-ls.1 man/wafer-explain.1 man/wafer-change.1 man/wafer-ckpt.1 \
  man/wafer-system.1 man/wafer-doctor.1 man/wafer-replay.1 man/wafer-resv.1 man/wafer-job.5 man/wafer.yaml.5 \
  man/waferd.yaml.5 man/waferd.platforms.5 man/waferd.policies.5 man/waferd.scheduling.5 man/waferd.8 man/wafersim.8

# Each verb is found under its own name: `man wafer-logs` shows the page that tells of it.
man_of_ls = man/wafer-show.1 man/wafer-top.1 man/wafer-logs.1 man/wafer-events.1 \
  man/wafer-wait.1 man/wafer-report.1 man/wafer-diff.1
man_of_change = man/wafer-cancel.1 man/wafer-hold.1 man/wafer-release.1 man/wafer-requeue.1 \
  man/wafer-update.1 man/wafer-resume.1 man/wafer-fallback.1 man/wafer-return.1
man_of_system = man/wafer-queue.1 man/wafer-quota.1
man_of_explain = man/wafer-plan.1
man_of_doctor = man/wafer-whoami.1 man/wafer-config.1 man/wafer-schema.1 man/wafer-completion.1 \
  man/wafer-proxy.1 man/wafer-version.1 man/wafer-help.1
man_links = $(man_of_ls) $(man_of_explain) $(man_of_change) $(man_of_system) $(man_of_doctor)
nodist_man_MANS = $(man_links)
CLEANFILES += $(man_links)
$(man_of_ls): man_page = wafer-ls
$(man_of_explain): man_page = wafer-explain
$(man_of_change): man_page = wafer-change
$(man_of_system): man_page = wafer-system
$(man_of_doctor): man_page = wafer-doctor
$(man_links): Makefile
	$(AM_V_GEN)$(MKDIR_P) man && echo '.so man1/$(man_page).1' >$@
