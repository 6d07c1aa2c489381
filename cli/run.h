/* run — what each verb does; named after it. Each answers with an exit code of wafer(1). */
#ifndef WAFERD_CLI_RUN_H
#define WAFERD_CLI_RUN_H

#include "cli/command.h"

int run_submit(const struct command *command);
int run_ls(const struct command *command);
int run_show(const struct command *command);
int run_top(const struct command *command);
int run_explain(const struct command *command);
int run_plan(const struct command *command);
int run_logs(const struct command *command);
int run_events(const struct command *command);
int run_report(const struct command *command);
int run_diff(const struct command *command);
int run_wait(const struct command *command);
int run_cancel(const struct command *command);
int run_hold(const struct command *command);
int run_release(const struct command *command);
int run_requeue(const struct command *command);
int run_update(const struct command *command);
int run_resume(const struct command *command);
int run_fallback(const struct command *command);
int run_return(const struct command *command);
int run_ckpt_ls(const struct command *command);
int run_ckpt_show(const struct command *command);
int run_ckpt_verify(const struct command *command);
int run_ckpt_pin(const struct command *command);
int run_ckpt_unpin(const struct command *command);
int run_ckpt_prune(const struct command *command);
int run_system_ls(const struct command *command);
int run_system_show(const struct command *command);
int run_system_fault(const struct command *command);
int run_system_heal(const struct command *command);
int run_proxy(const struct command *command);
int run_config_show(const struct command *command);
int run_completion(const struct command *command);
int run_schema(const struct command *command);
int run_system_drain(const struct command *command);
int run_system_undrain(const struct command *command);
int run_queue_ls(const struct command *command);
int run_queue_show(const struct command *command);
int run_queue_stop(const struct command *command);
int run_queue_start(const struct command *command);
int run_quota_show(const struct command *command);
int run_resv_ls(const struct command *command);
int run_resv_new(const struct command *command);
int run_resv_rm(const struct command *command);
int run_doctor(const struct command *command);
int run_replay(const struct command *command);
int run_whoami(const struct command *command);
int run_version(const struct command *command);
int run_help(const struct command *command);

/* --help, a bare group, or no verb at all. */
int help_print(const struct command *command);

#endif
