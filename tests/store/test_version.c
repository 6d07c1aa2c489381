#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "synthetic.h"
#include "tap.h"
#include "version.h"

/* Each version that was ever released, and the current one. */
static const char *const versions[] = { "v1" };

START_TEST(a_state_directory_of_an_earlier_version_is_still_read)
{
    const char *source = getenv("top_srcdir");
    owned(free) char *kept = text_format("%s/tests/store/%s", source ? source : ".", versions[_i]);
    owned(buffer_done) struct buffer said = BUFFER_EMPTY;
    char *dir = directory_new();

    version_restore(kept, dir);
    version_say(dir, &said);
    directory_remove(dir);
    owned(free) char *text = buffer_text(&said);
    owned(free) char *expected = version_read(kept, "expected.txt");
    ck_assert_str_eq(text, expected);
}
END_TEST

/* ---- the current version ---- */

static Wafer__Record *system_changed(uint64_t sequence, Wafer__System__State state)
{
    Wafer__Record *record = record_new(sequence, WAFER__RECORD_KIND__SYSTEM_CHANGED, 0);

    record->system = NEW(Wafer__SystemState);
    wafer__system_state__init(record->system);
    record->system->number = 3;
    record->system->name = text_copy("s3");
    record->system->pool = text_copy("wafers");
    record->system->platform = text_copy("cs3");
    record->system->host = text_copy("host1");
    record->system->state = state;
    record->system->since_us = record->time_us;
    return record;
}

static Wafer__Record *clock_set(uint64_t sequence)
{
    Wafer__Record *record = record_new(sequence, WAFER__RECORD_KIND__CLOCK_SET, 0);

    record->clock = NEW(Wafer__ClockState);
    wafer__clock_state__init(record->clock);
    record->clock->boot_id = text_copy("boot");
    record->clock->boottime_us = 1;
    record->clock->cluster_us = record->time_us;
    record->clock->speed = 600;
    return record;
}

static Wafer__Record *array_submitted(uint64_t sequence, uint64_t job, uint32_t count)
{
    Wafer__Record *record = record_submitted(sequence, job, "array");

    record->has_array_count = true;
    record->array_count = count;
    return record;
}

static Wafer__Record *with_text(Wafer__Record *record, Wafer__Cause cause, const char *text)
{
    record->has_cause = true;
    record->cause = cause;
    record->text = text_copy(text);
    return record;
}

static Wafer__Record *with_shards(Wafer__Record *record, size_t count)
{
    static const uint8_t digest[32] = { 1, 2, 3 };
    Wafer__CheckpointState *checkpoint = record->checkpoint;

    checkpoint->shards = memory_new(count * sizeof(*checkpoint->shards));
    checkpoint->n_shards = count;
    for (size_t i = 0; i < count; i++) {
        checkpoint->shards[i] = NEW(Wafer__ShardState);
        wafer__shard_state__init(checkpoint->shards[i]);
        checkpoint->shards[i]->bytes = 4096;
        record_set_bytes(&checkpoint->shards[i]->digest, digest, sizeof(digest));
    }
    return record;
}

/* Job 1 runs, loses a system, goes on and ends; jobs 2 to 4 are an array of which one has ended. */
static size_t make_story(Wafer__Record **records)
{
    size_t n = 0;
#define STORY(make, ...) (n++, records[n - 1] = make(n, __VA_ARGS__))
    STORY(record_new, WAFER__RECORD_KIND__TERM_OPENED, 0);
    n++, records[n - 1] = clock_set(n);
    STORY(system_changed, WAFER__SYSTEM__STATE__UP);
    STORY(record_submitted, 1, "gpt");
    STORY(array_submitted, 2, 3);
    STORY(record_new, WAFER__RECORD_KIND__JOB_GRANTED, 1);
    STORY(record_new, WAFER__RECORD_KIND__JOB_STARTED, 1);
    with_shards(STORY(record_checkpoint, 1, 1, 500, WAFER__CHECKPOINT__STATE__COMMITTED), 3);
    STORY(record_checkpoint, 1, 1, 500, WAFER__CHECKPOINT__STATE__VERIFIED);
    STORY(system_changed, WAFER__SYSTEM__STATE__LOST);
    with_text(STORY(record_new, WAFER__RECORD_KIND__ATTEMPT_ENDED, 1), WAFER__CAUSE__SYSTEM_LOST,
              "s3 is lost");
    with_text(STORY(record_new, WAFER__RECORD_KIND__REFUSED, 2), WAFER__CAUSE__CONFIG,
              "not your job");
    STORY(record_checkpoint, 1, 2, 1000, WAFER__CHECKPOINT__STATE__COMMITTED);
    STORY(record_ended, 3, 1001, "array");
    STORY(record_ended, 1, 1000, "gpt");
    STORY(record_checkpoint, 1, 1, 500, WAFER__CHECKPOINT__STATE__DELETED);
#undef STORY
    return n;
}

static void write_story(const char *dir)
{
    owned(shadow_done) struct shadow shadow = { .count = 0 };
    struct store *store = open_loaded(dir, &shadow);
    Wafer__Record *records[32];
    size_t count = make_story(records);
    uint64_t at = VERSION_SNAPSHOT;
    struct diag diag;
    int status;
    pid_t pid;

    for (size_t i = 0; i < count; i += 4) { /* rows of four */
        size_t end = i + 4 < count ? i + 4 : count;
        store_queue(store, batch_new(records + i, end - i));
        take_until(store, end);
    }
    ck_assert_int_eq(store_snapshot_start(store, at, shadow_save, &at, &pid, &diag), 0);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(store_snapshot_end(store, status, &diag), 0);
    store_close(store);
}

/* KEEP_VERSION=DIR keeps the text in DIR: to be committed when the schema gets a new version. */
START_TEST(the_current_version_can_be_kept_for_later_ones)
{
    owned(buffer_done) struct buffer said = BUFFER_EMPTY, again = BUFFER_EMPTY;
    char *dir = directory_new(), *restored = directory_new(), *scratch = directory_new();
    const char *wanted = getenv("KEEP_VERSION");
    const char *kept = wanted ? wanted : scratch;

    write_story(dir);
    version_keep(dir, kept);
    version_restore(kept, restored);
    version_say(dir, &said);
    version_say(restored, &again);
    ck_assert_uint_eq(said.length, again.length);
    ck_assert_mem_eq(buffer_data(&said), buffer_data(&again), said.length);
    owned(free) char *path = text_format("%s/expected.txt", kept);
    version_write(path, buffer_data(&said), said.length);
    directory_remove(dir);
    directory_remove(restored);
    directory_remove(scratch);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("version");
    TCase *tcase = tcase_create("version");

    tcase_add_loop_test(tcase, a_state_directory_of_an_earlier_version_is_still_read, 0,
                        (int)ELEMENTS(versions));
    tcase_add_test(tcase, the_current_version_can_be_kept_for_later_ones);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
