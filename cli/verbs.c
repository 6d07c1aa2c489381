/* verbs — the one table of what can be typed: parsing and help read it. */
#include "base/memory.h"
#include "cli/command.h"
#include "cli/run.h"

const struct flag flags[FLAGS] = {
    [FLAG_SOCKET] = { "socket", 0, "PATH", false, "the controller's socket" },
    [FLAG_SERVER] = { "server", 0, "URL", false, "the controller: unix:PATH or ssh://[USER@]HOST" },
    [FLAG_OUTPUT] = { "output", 'o', "FORMAT", false,
                      "table, wide, json, ndjson, yaml, name, plain, cols=KEY,..." },
    [FLAG_NO_HEADER] = { "no-header", 0, NULL, false, "tables without their first line" },
    [FLAG_COLOR] = { "color", 0, "WHEN", false, "auto, always or never" },
    [FLAG_TZ] = { "tz", 0, "ZONE", false, "times in UTC or local" },
    [FLAG_QUIET] = { "quiet", 'q', NULL, false, "ids alone, no news" },
    [FLAG_VERBOSE] = { "verbose", 'v', NULL, false, "tell which controller answers" },
    [FLAG_TIMEOUT] = { "timeout", 0, "DUR", false, "give up after that long; bounds a whole wait" },
    [FLAG_YES] = { "yes", 'y', NULL, false, "do not ask" },
    [FLAG_NO_INPUT] = { "no-input", 0, NULL, false, "never ask: fail instead" },
    [FLAG_HELP] = { "help", 'h', NULL, false, "this text" },
    [FLAG_VERSION] = { "version", 0, NULL, false, "the version of this program" },

    [FLAG_SET] = { "set", 0, "KEY=VALUE", false, "set a key of the job file; may be repeated" },
    [FLAG_NAME] = { "name", 0, "NAME", false, "--set name=NAME" },
    [FLAG_QUEUE] = { "queue", 0, "QUEUE", false, "--set queue=QUEUE" },
    [FLAG_PRIORITY] = { "priority", 0, "p1..p3", false, "--set priority=...; lower runs first" },
    [FLAG_SYSTEMS] = { "systems", 0, "N[..M]", false,
                       "so many systems; N..M: M, and no fewer than N" },
    [FLAG_LIMIT] = { "limit", 0, "DUR", false, "--set limit=DUR" },
    [FLAG_ARRAY] = { "array", 0, "A-B[%N]", false, "one job for each index, N at a time" },
    [FLAG_KEY] = { "key", 0, "KEY", false, "the same key gives the same job, however often sent" },
    [FLAG_HOLD] = { "hold", 0, NULL, false, "do not start it before 'wafer release'" },
    [FLAG_WAIT] = { "wait", 0, NULL, false, "wait for the end and exit with its outcome" },
    [FLAG_FOLLOW_JOB] = { "follow", 'f', NULL, false, "show progress until the end, as --wait" },
    [FLAG_MINE] = { "mine", 0, NULL, false, "your own jobs (default)" },
    [FLAG_ALL_USERS] = { "all-users", 0, NULL, false, "jobs of everybody" },
    [FLAG_ALL] = { "all", 0, NULL, false, "ended jobs too" },
    [FLAG_STATE] = { "state", 0, "S[,S...]", false, "only jobs in these states" },
    [FLAG_IN_QUEUE] = { "queue", 0, "QUEUE", false, "only jobs of this queue" },
    [FLAG_COUNT] = { "limit", 'n', "N", false, "at most N of them (default 1000)" },
    [FLAG_WATCH] = { "watch", 0, "DUR", true, "stay, and show what changes (default 2s)" },
    [FLAG_SPEC] = { "spec", 0, NULL, false, "the job file as the controller understood it" },
    [FLAG_FOLLOW] = { "follow", 'f', NULL, false, "go on as more arrives" },
    [FLAG_TAIL] = { "tail", 'n', "N", false, "only the last N lines" },
    [FLAG_ATTEMPT] = { "attempt", 0, "N|all", false, "of one attempt (default all)" },
    [FLAG_RAW] = { "raw", 0, NULL, false, "control characters as they are, also to a terminal" },
    [FLAG_ANY] = { "any", 0, NULL, false, "until the first has ended" },
    [FLAG_REASON] = { "reason", 0, "TEXT", false, "why; kept with the event" },
    [FLAG_NOW] = { "now", 0, NULL, false, "without saving a checkpoint first" },
    [FLAG_GRACE] = { "grace", 0, "DUR", false, "how long saving may take" },
    [FLAG_FROM] = { "from", 0, "CKPT", false, "auto, a step, or JOB@STEP (default auto)" },
    [FLAG_RESUME_SYSTEMS] = { "systems", 0, "N", false, "on so many systems" },
    [FLAG_POOL] = { "pool", 0, "NAME", false, "in another pool" },
    [FLAG_DRY_RUN] = { "dry-run", 0, NULL, false, "tell what would be deleted, delete nothing" },
    [FLAG_FOR] = { "for", 0, "DUR", false, "heal by itself after that long" },
    [FLAG_LABEL] = { "label", 0, "KEY=VALUE", false, "only jobs with this label; may be repeated" },
    [FLAG_SINCE] = { "since", 0, "TIME", false, "from that time on; 2h means two hours ago" },
    [FLAG_SORT] = { "sort", 0, "[-]KEY", false, "by a key of -o json; - for downwards" },
    [FLAG_ORIGIN] = { "origin", 0, NULL, false, "where each value comes from" },
};

#define ANY_NUMBER 100000

const struct verb verbs[] = {
    { NULL, "submit", "FILE|-", 1, 1,
      BIT(FLAG_SET) | BIT(FLAG_NAME) | BIT(FLAG_QUEUE) | BIT(FLAG_PRIORITY) | BIT(FLAG_SYSTEMS) |
          BIT(FLAG_LIMIT) | BIT(FLAG_ARRAY) | BIT(FLAG_KEY) | BIT(FLAG_HOLD) | BIT(FLAG_WAIT) |
          BIT(FLAG_FOLLOW_JOB),
      "hand in a job file",
      "FILE is a job file, wafer-job(5); - reads it from standard input. Ctrl-C during --wait or\n"
      "--follow leaves the job running.\n",
      run_submit },
    { NULL, "ls", NULL, 0, 0,
      BIT(FLAG_MINE) | BIT(FLAG_ALL_USERS) | BIT(FLAG_ALL) | BIT(FLAG_STATE) | BIT(FLAG_IN_QUEUE) |
          BIT(FLAG_LABEL) | BIT(FLAG_SINCE) | BIT(FLAG_SORT) | BIT(FLAG_COUNT) | BIT(FLAG_WATCH),
      "list jobs", "A state of ended jobs in --state implies --all.\n", run_ls },
    { NULL, "show", "ID...", 1, ANY_NUMBER, BIT(FLAG_SPEC), "everything about jobs",
      "Ends with the newest five events. --spec prints a file that submit takes.\n", run_show },
    { NULL, "top", NULL, 0, 0, BIT(FLAG_IN_QUEUE), "systems, queues and jobs on a live screen",
      "q ends it; up and down (k, j) select a job and enter shows it; left and right (h, l) turn\n"
      "to another queue; s sorts by something else, r the other way round. Without a terminal it\n"
      "prints once.\n",
      run_top },
    { NULL, "logs", "ID", 1, 1,
      BIT(FLAG_FOLLOW) | BIT(FLAG_TAIL) | BIT(FLAG_ATTEMPT) | BIT(FLAG_RAW), "what a job printed",
      "-f ends with the job and exits with its outcome.\n", run_logs },
    { NULL, "events", "[ID]", 0, 1, BIT(FLAG_FOLLOW) | BIT(FLAG_COUNT) | BIT(FLAG_SINCE),
      "who did what, and when", "-f of a job ends with it and exits with its outcome.\n",
      run_events },
    { NULL, "wait", "ID...", 1, ANY_NUMBER, BIT(FLAG_ANY), "wait for jobs to end",
      "Exits with the outcome: of several jobs, the first that is not 0.\n", run_wait },
    { NULL, "cancel", "ID...", 1, ANY_NUMBER, BIT(FLAG_REASON) | BIT(FLAG_NOW) | BIT(FLAG_GRACE),
      "end jobs",
      "A running job saves a checkpoint first, unless --now. Exits with 2 when a job has ended\n"
      "already: there was nothing to cancel.\n",
      run_cancel },
    { NULL, "hold", "ID...", 1, ANY_NUMBER, BIT(FLAG_REASON), "keep waiting jobs from starting",
      NULL, run_hold },
    { NULL, "release", "ID...", 1, ANY_NUMBER, 0, "let held jobs start", NULL, run_release },
    { NULL, "requeue", "ID...", 1, ANY_NUMBER, BIT(FLAG_REASON),
      "stop running jobs and let them wait again", NULL, run_requeue },
    { NULL, "resume", "ID", 1, 1, BIT(FLAG_FROM) | BIT(FLAG_RESUME_SYSTEMS) | BIT(FLAG_POOL),
      "go on from a checkpoint",
      "A live job gets a new attempt. An ended one is final: a new job goes on from its\n"
      "checkpoint. Only verified checkpoints are taken.\n",
      run_resume },
    { "ckpt", "ls", "ID", 1, 1, BIT(FLAG_WATCH), "checkpoints of a job", NULL, run_ckpt_ls },
    { "ckpt", "show", "CKPT", 1, 1, 0, "everything about a checkpoint", NULL, run_ckpt_show },
    { "ckpt", "verify", "CKPT...", 1, ANY_NUMBER, 0, "read checkpoints back and compare digests",
      NULL, run_ckpt_verify },
    { "ckpt", "pin", "CKPT...", 1, ANY_NUMBER, 0, "keep checkpoints whatever retention says", NULL,
      run_ckpt_pin },
    { "ckpt", "unpin", "CKPT...", 1, ANY_NUMBER, 0, "let retention decide again", NULL,
      run_ckpt_unpin },
    { "ckpt", "prune", "ID", 1, 1, BIT(FLAG_DRY_RUN),
      "delete what neither checkpoint.keep nor a pin keeps", NULL, run_ckpt_prune },
    { "system", "ls", NULL, 0, 0, BIT(FLAG_WATCH), "list systems", NULL, run_system_ls },
    { "system", "show", "SYSTEM", 1, 1, 0, "everything about a system", NULL, run_system_show },
    { "system", "fault", "SYSTEM crash", 2, 2, BIT(FLAG_FOR), "make a simulated system fail", NULL,
      run_system_fault },
    { "system", "heal", "SYSTEM", 1, 1, 0, "end a fault", NULL, run_system_heal },
    { NULL, "proxy", NULL, 0, 0, 0, "join standard input and output with the controller",
      "What --server ssh://HOST runs on the host.\n", run_proxy },
    { "config", "show", NULL, 0, 0, BIT(FLAG_ORIGIN), "what is set, by flags, variables and files",
      NULL, run_config_show },
    { NULL, "completion", "bash|zsh|fish", 1, 1, 0, "completion of command lines for a shell",
      "bash  source <(wafer completion bash)\n"
      "zsh   source <(wafer completion zsh), after compinit\n"
      "fish  wafer completion fish | source\n",
      run_completion },
    { NULL, "schema", "[NAME]", 0, 1, 0, "JSON Schema of a file or of an output; the names without",
      NULL, run_schema },
    { NULL, "version", NULL, 0, 0, 0, "versions of this program and of the controller", NULL,
      run_version },
    { NULL, "help", "[TOPIC]", 0, 2, 0, "this, or help on a verb, a group or a topic", NULL,
      run_help },
};
const size_t verbs_count = ELEMENTS(verbs);

const struct group groups[] = {
    { "config", "the settings of this program" },
    { "ckpt", "checkpoints of jobs; CKPT is JOB@STEP" },
    { "system", "the systems that jobs run on" },
};
const size_t groups_count = ELEMENTS(groups);
