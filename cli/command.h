/* command — what was asked for: one parsed command line and the settings that go with it.
 *
 * One table of flags and one of verbs (verbs.c) drive parsing and help. Everything that a verb
 * needs of its surroundings is in here, so verbs read no environment.
 *
 * Exit codes  functions that can fail towards the user print their message themselves and return
 *             an exit code of wafer(1); 0 is success
 */
#ifndef WAFERD_CLI_COMMAND_H
#define WAFERD_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/screen.h"
#include "cli/settings.h"

/* Of up to 128 things that an enumeration numbers. */
typedef unsigned __int128 bit_set;
#define BIT(n) ((bit_set)1 << (n))

enum {
    EXIT_DIFFERENT = 1,
    EXIT_NOTHING_MATCHED = 2,
    EXIT_WAIT_TIMEOUT = 6,
    EXIT_USAGE = 64,
    EXIT_DATA = 65,
    EXIT_NO_INPUT = 66,
    EXIT_UNREACHABLE = 69,
    EXIT_INTERNAL = 70,
    EXIT_OS = 71,
    EXIT_IO = 74,
    EXIT_BUSY = 75,
    EXIT_PROTOCOL = 76,
    EXIT_DENIED = 77,
    EXIT_CONFIG = 78,
    EXIT_INTERRUPTED = 130,
    EXIT_BROKEN_PIPE = 141,
};

enum flag_id {
    /* understood by every verb */
    FLAG_SOCKET,
    FLAG_SERVER,
    FLAG_AS,
    FLAG_OUTPUT,
    FLAG_NO_HEADER,
    FLAG_COLOR,
    FLAG_TZ,
    FLAG_QUIET,
    FLAG_VERBOSE,
    FLAG_TIMEOUT,
    FLAG_YES,
    FLAG_NO_INPUT,
    FLAG_HELP,
    FLAG_VERSION,
    FLAGS_EVERYWHERE,
    /* of some verbs */
    FLAG_SET = FLAGS_EVERYWHERE,
    FLAG_NAME,
    FLAG_QUEUE,
    FLAG_PRIORITY,
    FLAG_SYSTEMS,
    FLAG_LIMIT,
    FLAG_ARRAY,
    FLAG_BEGIN,
    FLAG_DEADLINE,
    FLAG_AFTER,
    FLAG_KEY,
    FLAG_HOLD,
    FLAG_WAIT,
    FLAG_FOLLOW_JOB,
    FLAG_PLAN,
    FLAG_MINE,
    FLAG_ALL_USERS,
    FLAG_ALL,
    FLAG_STATE,
    FLAG_IN_QUEUE,
    FLAG_COUNT,
    FLAG_WATCH,
    FLAG_SPEC,
    FLAG_ATTEMPTS,
    FLAG_FOLLOW,
    FLAG_TAIL,
    FLAG_ATTEMPT,
    FLAG_RAW,
    FLAG_ANY,
    FLAG_REASON,
    FLAG_NOW,
    FLAG_GRACE,
    FLAG_FROM,
    FLAG_RESUME_SYSTEMS,
    FLAG_POOL,
    FLAG_DRY_RUN,
    FLAG_FOR,
    FLAG_LABEL,
    FLAG_SINCE,
    FLAG_SORT,
    FLAG_ORIGIN,
    FLAG_IF_VERSION,
    FLAG_FORMAT,
    FLAG_START,
    FLAG_FIX,
    FLAG_ON_SYSTEM,
    FLAG_ONLY,
    FLAG_EQUAL,
    FLAG_CONFIG,
    FLAG_BACKUP,
    FLAG_REPLAY_SYSTEMS,
    FLAG_BACKFILL,
    FLAG_ORDER,
    FLAG_POLICIES,
    FLAG_ESTIMATES,
    FLAG_TIES,
    FLAG_SCHEDULE,
    FLAG_PICTURE,
    FLAG_STRICT,
    FLAG_FAILURES,
    FLAG_SEED,
    FLAG_CHECKPOINTS,
    FLAG_RESERVATION,
    FLAG_WINDOW_START,
    FLAG_WINDOW,
    FLAG_ZONE,
    FLAG_EVERY,
    FLAG_ON,
    FLAG_UNTIL,
    FLAG_OF_SYSTEMS,
    FLAG_HOSTS,
    FLAG_OF_POOL,
    FLAG_USERS,
    FLAG_FORCE,
    FLAGS,
};
/* A verb has a bit for each flag that does not work everywhere. */
#define TAKES(flag) BIT((flag)-FLAGS_EVERYWHERE)
_Static_assert(FLAGS - FLAGS_EVERYWHERE <= 128, "there is a bit for each");

struct flag {
    const char *name;
    char letter;            /* 0: none */
    const char *argument;   /* NULL: takes none */
    bool argument_optional; /* only as --name=VALUE */
    const char *summary;
};
extern const struct flag flags[FLAGS];

enum format {
    FORMAT_TABLE,
    FORMAT_WIDE,
    FORMAT_JSON,
    FORMAT_NDJSON,
    FORMAT_YAML,
    FORMAT_NAME,
    FORMAT_PLAIN,
    FORMAT_COLUMNS, /* cols=... */
    FORMATS,
};

struct command;

struct verb {
    const char *group; /* NULL: none */
    const char *name;
    const char *targets; /* of the synopsis; NULL: none */
    size_t targets_min, targets_max;
    bit_set flags; /* TAKES(FLAG_...) beside those that work everywhere */
    const char *summary;
    const char *text; /* more help, or NULL */
    int (*run)(const struct command *command);
};

struct group {
    const char *name;
    const char *summary;
};

extern const struct verb verbs[];
extern const size_t verbs_count;
extern const struct group groups[];
extern const size_t groups_count;

struct command {
    const struct verb *verb;   /* NULL: no verb was given */
    const struct group *group; /* of the verb, or a bare one */
    const char *values[FLAGS]; /* NULL: not given; "" given without a value */
    const char **sets;         /* of --set, in order */
    size_t set_count;
    const char **labels; /* of --label, in order */
    size_t label_count;
    const char **targets;
    size_t target_count;

    struct settings settings;
    enum format format;
    const char *columns;           /* of cols= */
    const struct setting *address; /* which of the two names the controller */
    const char *socket_path;       /* NULL: it is reached through `ssh_host` */
    const char *ssh_host;          /* what stood after ssh:// */
    int64_t timeout_us;            /* 0: not given */
    bool utc;
    struct screen out, err;
};

static inline bool command_has(const struct command *command, enum flag_id flag)
{
    return command->values[flag] != NULL;
}

static inline const struct setting *command_setting(const struct command *command,
                                                    enum setting_id id)
{
    return &command->settings.items[id];
}

/* Does a program read the output, in JSON? Errors are JSON then too. */
static inline bool command_is_json(const struct command *command)
{
    return command->format == FORMAT_JSON || command->format == FORMAT_NDJSON;
}

/* Do people read it, as a table or a page? */
static inline bool command_is_for_people(const struct command *command)
{
    return command->format == FORMAT_TABLE || command->format == FORMAT_WIDE;
}

/* Is the flag one of those that this verb has beside those that work everywhere? Without a verb: is
 * it one of the latter? */
static inline bool verb_has(const struct verb *verb, enum flag_id flag)
{
    if (!verb || flag < FLAGS_EVERYWHERE)
        return !verb && flag < FLAGS_EVERYWHERE;
    return verb->flags & TAKES(flag);
}

/* May this verb take that flag? */
static inline bool verb_takes(const struct verb *verb, enum flag_id flag)
{
    return flag < FLAGS_EVERYWHERE || (verb && verb_has(verb, flag));
}

/* Read a command line; also sets what the environment says. The command borrows `argv`. */
int command_parse(int argc, char *const *argv, struct command *ret);
void command_done(struct command *command);

/* What the process exits with: errors of the tool itself may have been given a code of their own,
 * to tell them from outcomes. */
int command_exit(const struct command *command, int exit);

/* "submit", "ckpt ls", or "" before a verb is known: for messages. */
const char *command_name(const struct command *command, char *room, size_t size);

/* A whole number from a flag, at most `maximum`; 0 and `ret` untouched when the flag is absent. */
int command_number(const struct command *command, enum flag_id flag, uint64_t maximum,
                   uint64_t *ret);
/* A duration from a flag, likewise. */
int command_duration(const struct command *command, enum flag_id flag, int64_t *ret_us);

#endif
