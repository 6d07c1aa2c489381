/* Random lines of a scenario, from a seed: whatever comes in whatever order, the invariants hold,
 * the records alone restore the state, and so does a snapshot. */
#include <stdlib.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/random.h"
#include "scenario.h"
#include "tap.h"

#define SEEDS 60
#define LINES 400

/* $J: one of the first jobs; $E: an epoch; $S: a step; $C: a checkpoint; $U: a caller; $L: a link;
 * $B: a boot; $N: 1..3 */
static const char *const lines[] = {
    "submit uid=$U",
    "submit uid=$U systems.count=$N",
    "submit uid=$U array=0-3%$N",
    "submit uid=$U key=k$N",
    "submit uid=$U limit=$Ss checkpoint.grace=$Ns",
    "submit uid=$U checkpoint.keep.last=$N retry.max=$N",
    "submit uid=$U resume.init_from=$J@$S facts=$J",
    "up host=h link=$L boot=b$B systems=s1,s2",
    "up host=h link=$L boot=b$B systems=s1,s2,s3 running=$J epoch=$E step=$S",
    "up host=g link=3 boot=b$B systems=t1,t2",
    "beat link=$L running=$J epoch=$E step=$S",
    "beat link=$L systems=s1 down=1",
    "beat link=$L systems=s1",
    "closed link=2",
    "cancel job=$J uid=$U",
    "cancel job=$J uid=$U now=1",
    "hold job=$J uid=$U",
    "release job=$J uid=$U",
    "requeue job=$J uid=$U",
    "resume job=$J uid=$U",
    "resume job=$J uid=$U from=$S",
    "resume job=$J uid=$U systems=$N",
    "resume job=$J uid=$U pool=gpu",
    "show job=$J uid=$U",
    "prune job=$J uid=$U",
    "pin job=$J step=$S uid=$U",
    "unpin job=$J step=$S uid=$U",
    "verify job=$J step=$S uid=$U",
    "drain system=s$N uid=$U",
    "undrain system=s$N uid=$U",
    "stop queue=wafer uid=$U",
    "start queue=wafer uid=10",
    "started job=$J epoch=$E link=$L",
    "started job=$J epoch=$E link=1",
    "started job=$J epoch=$E link=1",
    "started job=$J epoch=$E link=$L",
    "suspended job=$J epoch=$E link=$L",
    "continued job=$J epoch=$E link=$L",
    "progress job=$J epoch=$E step=$S link=$L",
    "begun job=$J epoch=$E step=$S link=$L",
    "begun job=$J epoch=$E step=$S link=1",
    "begun job=$J epoch=$E step=$S link=1",
    "begun job=$J epoch=$E step=$S link=$L",
    "written job=$J epoch=$E step=$S link=$L",
    "written job=$J epoch=$E step=$S link=1",
    "written job=$J epoch=$E step=$S link=1",
    "written job=$J epoch=$E step=$S link=$L metric=$N",
    "failed job=$J epoch=$E step=$S link=$L",
    "ended job=$J epoch=$E step=$S link=$L",
    "ended job=$J epoch=$E step=$S link=$L cause=SYSTEM_FAILED system=s1",
    "ended job=$J epoch=$E step=$S link=$L cause=CHECKPOINT_UNREADABLE",
    "ended job=$J epoch=$E step=$S link=$L cause=LAUNCH_REFUSED started=0",
    "manifest checkpoint=$C",
    "manifest checkpoint=$C",
    "manifest checkpoint=$C error=5",
    "verified checkpoint=$C",
    "verified checkpoint=$C",
    "verified checkpoint=$C error=5",
    "deleted checkpoint=$C",
    "deleted checkpoint=$C error=5",
    "submit uid=$U notify=[{on:+[STARTED,REQUEUED,HELD,SUCCEEDED,CANCELLED],to:+ops}]",
    "notified",
    "notified error=5",
    "notified delivery=$C",
    "quotas user:every=s$N user:1001=s2 project:nlp=s$N queue:wafer=s3",
    "quotas user:every=s2,p4 queue:wafer=s$N project:every=s1",
    "quotas project:nlp=s$N,d$Ss,m50s",
    "quotas",
    "quotas project:nlp=h$Sm user:every=h$Ss",
    "quotas user:1001=w$N,b$N project:every=b1 queue:wafer=h50s",
    "submit uid=$U project=nlp systems.count=$N",
    "submit uid=$U project=vision priority=p$N array=0-3%$N",
    "submit uid=$U project=nlp priority=p$N",
    "update job=$J uid=$U priority=p$N",
    "update job=$J uid=$U systems.count=$N",
    "reserve name=r$N in=$Ss for=$Ss uid=10 force=1",
    "reserve name=r$N in=$Ss for=$Ss systems=s1,s2 uid=10 force=1",
    "reserve name=r$N in=$Ss for=$Ss hosts=h user=1000 uid=10 every=daily force=1",
    "unreserve name=r$N uid=10",
    "reservations",
    "submit uid=$U limit=$Ss reservation=r$N",
    "update job=$J uid=$U reservation=r$N",
    "rules backfill=easy by=p1 of=p3",
    "rules backfill=conservative",
    "timer",
    "timer",
    "full",
    "room",
    "room",
    "unreadable job=$J sequence=$S",
    "restart",
    "restart site=CANCELLED",
};

static void fill_in(struct buffer *line, const char *pattern, struct random *random)
{
    static const char *const callers[] = { "1000", "1000", "1001", "10" };

    for (; *pattern; pattern++) {
        if (*pattern != '$') {
            buffer_append(line, pattern, 1);
            continue;
        }
        switch (*++pattern) {
        case 'J': buffer_format(line, "%u", 1 + (unsigned)random_below(random, 5)); break;
        case 'E':
            if (random_below(random, 4))
                buffer_append_text(line, "now");
            else
                buffer_format(line, "%u", 1 + (unsigned)random_below(random, 3));
            break;
        case 'S': buffer_format(line, "%u", 10 * (1 + (unsigned)random_below(random, 5))); break;
        case 'C':
            if (random_below(random, 2))
                buffer_append_text(line, "now");
            else
                buffer_format(line, "%u", 1 + (unsigned)random_below(random, 12));
            break;
        case 'L':
        case 'B': buffer_format(line, "%u", 1 + (unsigned)random_below(random, 2)); break;
        case 'N': buffer_format(line, "%u", 1 + (unsigned)random_below(random, 3)); break;
        case 'U': buffer_append_text(line, callers[random_below(random, 4)]); break;
        }
    }
}

START_TEST(any_inputs_in_any_order_leave_a_state_that_their_records_restore)
{
    struct scenario *scenario = scenario_new();
    struct random random;
    uint64_t now_s = 1;

    random_init(&random, (uint64_t)_i);
    for (int i = 0; i < LINES; i++) {
        owned(buffer_done) struct buffer line = { 0 };
        now_s += random_below(&random, 8) ? random_below(&random, 3) : random_below(&random, 20);
        buffer_format(&line, "%llus ", (unsigned long long)now_s);
        fill_in(&line, lines[random_below(&random, sizeof(lines) / sizeof(*lines))], &random);
        owned(free) char *text = buffer_text(&line);
        scenario_run(scenario, text);
        if (i % 50 == 0)
            scenario_check_snapshot(scenario);
    }
    scenario_check_snapshot(scenario);
    scenario_free(scenario);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("property");
    TCase *tcase = tcase_create("property");

    tcase_add_loop_test(tcase, any_inputs_in_any_order_leave_a_state_that_their_records_restore, 0,
                        SEEDS);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
