#include <errno.h>
#include <sqlite3.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "synthetic.h"
#include "tap.h"

static char *dir;
static struct store *store;
static uint64_t sequence;
static struct buffer said; /* one line for each call of `each` */

static void make_store(void)
{
    owned(shadow_done) struct shadow shadow = { .count = 0 };

    dir = directory_new();
    store = open_loaded(dir, &shadow);
    sequence = 0;
}

static void remove_store(void)
{
    store = store_close(store);
    directory_remove(dir);
    buffer_done(&said);
}

static void write_record(Wafer__Record *record)
{
    ck_assert_uint_eq(record->sequence, sequence);
    store_queue(store, batch_of(record));
}

static void durable(void)
{
    take_until(store, sequence);
}

static const char *text(void)
{
    buffer_append(&said, "", 1);
    said.length--;
    return (char *)buffer_data(&said);
}

static void say_event(void *userdata, const Wafer__Event *event)
{
    ck_assert_ptr_null(userdata);
    buffer_format(&said, "%llu %s", (unsigned long long)event->sequence, event->kind);
    if (event->has_job)
        buffer_format(&said, " job=%llu", (unsigned long long)event->job);
    if (event->has_uid)
        buffer_format(&said, " uid=%u", event->uid);
    if (event->system)
        buffer_format(&said, " system=%s", event->system);
    if (event->has_cause)
        buffer_format(&said, " cause=%d", (int)event->cause);
    if (event->text)
        buffer_format(&said, " '%s'", event->text);
    ck_assert_int_eq(event->at->us, 1700000000000000 + (int64_t)event->sequence * 1000);
    buffer_format(&said, "\n");
}

static const char *events(uint64_t job, size_t limit)
{
    struct diag diag = { "" };

    buffer_clear(&said);
    ck_assert_msg(store_history_events(store, job, limit, say_event, NULL, &diag) == 0, "%s",
                  diag.text);
    return text();
}

static void say_job(void *userdata, const Wafer__Job *view)
{
    ck_assert_ptr_null(userdata);
    buffer_format(&said, "%llu %s\n", (unsigned long long)view->id, view->name);
}

static const char *jobs(bool all, uid_t uid, size_t limit, uint64_t total)
{
    struct diag diag = { "" };
    uint64_t told;

    buffer_clear(&said);
    ck_assert_int_eq(store_history_jobs(store, all, uid, limit, say_job, NULL, &told, &diag), 0);
    ck_assert_uint_eq(told, total);
    return text();
}

START_TEST(an_ended_job_is_found_with_view_state_and_spec)
{
    owned(store_job_done) struct store_job job = { .view = NULL };
    struct diag diag = { "" };

    sequence++, write_record(record_submitted(sequence, 7, "gpt"));
    Wafer__Record *record = record_submitted(1, 7, "gpt");
    durable();
    ck_assert_int_eq(store_history_job(store, 7, &job, &diag), -ENOENT);
    sequence++, write_record(record_ended(sequence, 7, 1000, "gpt"));
    durable();
    ck_assert_msg(store_history_job(store, 7, &job, &diag) == 0, "%s", diag.text);
    ck_assert_str_eq(job.view->name, "gpt");
    ck_assert_uint_eq(job.state->id, 7);
    ck_assert_int_eq(job.state->state, WAFER__JOB__STATE__SUCCEEDED);
    ck_assert_uint_eq(job.spec.len, record->spec.len);
    ck_assert_mem_eq(job.spec.data, record->spec.data, job.spec.len);
    ck_assert_int_eq(store_history_job(store, 8, &job, &diag), -ENOENT);
    wafer__record__free_unpacked(record, NULL);
}
END_TEST

START_TEST(every_element_of_an_array_has_the_spec_and_the_submission_of_the_array)
{
    struct diag diag = { "" };

    sequence++;
    Wafer__Record *array = record_submitted(sequence, 10, "array");
    array->has_array_count = true;
    array->array_count = 3;
    write_record(array);
    sequence++, write_record(record_submitted(sequence, 13, "other"));
    for (uint64_t job = 9; job <= 13; job++)
        sequence++, write_record(record_ended(sequence, job, 1000, "array"));
    durable();
    for (uint64_t id = 9; id <= 13; id++) {
        owned(store_job_done) struct store_job job = { .view = NULL };
        ck_assert_int_eq(store_history_job(store, id, &job, &diag), 0);
        ck_assert_uint_eq(job.spec.len != 0, id != 9); /* the submission of 9 is not known */
        if (id > 9)
            ck_assert_str_eq((char *)job.spec.data,
                             id == 13 ? "wafer/v1 Job other" : "wafer/v1 Job array");
    }
    ck_assert_str_eq(events(12, 10), "1 JOB_SUBMITTED job=12 uid=1000\n"
                                     "6 JOB_ENDED job=12 cause=1 'all steps done'\n");
    ck_assert_str_eq(events(9, 10), "3 JOB_ENDED job=9 cause=1 'all steps done'\n");
}
END_TEST

START_TEST(ended_jobs_come_newest_first_and_are_counted)
{
    static const struct {
        uint64_t id;
        uint32_t uid;
        const char *name;
    } ended[] = { { 1, 10, "a" }, { 3, 10, "b" }, { 2, 11, "a" }, { 5, 10, "a" }, { 4, 11, "c" } };
    uint64_t id;

    ck_assert_str_eq(jobs(true, 0, 10, 0), "");
    for (size_t i = 0; i < ELEMENTS(ended); i++)
        sequence++, write_record(record_ended(sequence, ended[i].id, ended[i].uid, ended[i].name));
    durable();
    ck_assert_str_eq(jobs(true, 0, 10, 5), "5 a\n4 c\n3 b\n2 a\n1 a\n");
    ck_assert_str_eq(jobs(true, 0, 2, 5), "5 a\n4 c\n");
    ck_assert_str_eq(jobs(false, 10, 10, 3), "5 a\n3 b\n1 a\n");
    ck_assert_str_eq(jobs(false, 11, 1, 2), "4 c\n");
    ck_assert_str_eq(jobs(false, 12, 10, 0), "");
    ck_assert_int_eq(store_history_name(store, 10, "a", &id), 0);
    ck_assert_uint_eq(id, 5);
    ck_assert_int_eq(store_history_name(store, 11, "a", &id), 0);
    ck_assert_uint_eq(id, 2);
    ck_assert_int_eq(store_history_name(store, 11, "b", &id), -ENOENT);
}
END_TEST

START_TEST(a_newer_view_of_an_ended_job_replaces_the_older_and_counts_once)
{
    owned(store_job_done) struct store_job job = { .view = NULL };
    struct diag diag = { "" };

    sequence++, write_record(record_ended(sequence, 7, 1000, "gpt"));
    sequence++;
    Wafer__Record *record = record_ended(sequence, 7, 1000, "gpt");
    record->kind = WAFER__RECORD_KIND__JOB_ISOLATED;
    record->view->detail = text_copy("newer");
    write_record(record);
    durable();
    ck_assert_str_eq(jobs(true, 0, 10, 1), "7 gpt\n");
    ck_assert_int_eq(store_history_job(store, 7, &job, &diag), 0);
    ck_assert_str_eq(job.view->detail, "newer");
}
END_TEST

static const char *checkpoints(uint64_t job)
{
    Wafer__CheckpointState **states;
    struct diag diag = { "" };
    size_t count;

    buffer_clear(&said);
    ck_assert_int_eq(store_history_checkpoints(store, job, &states, &count, &diag), 0);
    for (size_t i = 0; i < count; i++)
        buffer_format(&said, "%llu@%llu state %d\n", (unsigned long long)states[i]->number,
                      (unsigned long long)states[i]->step, (int)states[i]->state);
    store_checkpoints_free(states, count);
    return text();
}

START_TEST(checkpoints_come_by_step_in_their_newest_state_until_deleted)
{
    static const struct {
        uint64_t job, number, step;
        Wafer__Checkpoint__State state;
    } changes[] = {
        { 7, 1, 900, WAFER__CHECKPOINT__STATE__WRITING },
        { 7, 2, 1000, WAFER__CHECKPOINT__STATE__VERIFIED },
        { 8, 3, 50, WAFER__CHECKPOINT__STATE__COMMITTED },
        { 7, 4, 800, WAFER__CHECKPOINT__STATE__COMMITTED },
        { 7, 1, 900, WAFER__CHECKPOINT__STATE__COMMITTED },
        { 7, 2, 1000, WAFER__CHECKPOINT__STATE__DELETING },
        { 7, 2, 1000, WAFER__CHECKPOINT__STATE__DELETED },
    };

    for (size_t i = 0; i < ELEMENTS(changes); i++)
        sequence++, write_record(record_checkpoint(sequence, changes[i].job, changes[i].number,
                                                   changes[i].step, changes[i].state));
    durable();
    ck_assert_str_eq(checkpoints(7), "4@800 state 3\n1@900 state 3\n");
    ck_assert_str_eq(checkpoints(8), "3@50 state 3\n");
    ck_assert_str_eq(checkpoints(9), "");
}
END_TEST

static const char *last_checkpoint(uint64_t id)
{
    owned(store_job_done) struct store_job job = { .view = NULL };
    struct diag diag = { "" };

    ck_assert_int_eq(store_history_job(store, id, &job, &diag), 0);
    Wafer__Job__LastCheckpoint *last = job.view->checkpoint;
    buffer_clear(&said);
    if (last)
        buffer_format(&said, "%s at %llu%s", last->last_good_id,
                      (unsigned long long)last->last_good_step, last->verified ? " verified" : "");
    return text();
}

START_TEST(an_ended_job_shows_what_became_of_its_checkpoints)
{
    sequence++,
        write_record(record_checkpoint(sequence, 7, 1, 900, WAFER__CHECKPOINT__STATE__VERIFIED));
    sequence++,
        write_record(record_checkpoint(sequence, 7, 2, 1000, WAFER__CHECKPOINT__STATE__COMMITTED));
    sequence++, write_record(record_ended(sequence, 7, 1000, "gpt"));
    durable();
    ck_assert_str_eq(last_checkpoint(7), "7@1000.1 at 1000");
    sequence++,
        write_record(record_checkpoint(sequence, 7, 2, 1000, WAFER__CHECKPOINT__STATE__VERIFIED));
    durable();
    ck_assert_str_eq(last_checkpoint(7), "7@1000.1 at 1000 verified");
    sequence++,
        write_record(record_checkpoint(sequence, 7, 2, 1000, WAFER__CHECKPOINT__STATE__CORRUPT));
    durable();
    ck_assert_str_eq(last_checkpoint(7), "7@900.1 at 900 verified");
    sequence++,
        write_record(record_checkpoint(sequence, 7, 1, 900, WAFER__CHECKPOINT__STATE__DELETED));
    durable();
    ck_assert_str_eq(last_checkpoint(7), "");
}
END_TEST

/* System s3 is lost, and what that does to a job; the clock and a key are nobody's business. */
static void write_story(void)
{
    Wafer__Record *record;

    sequence++, write_record(record_new(sequence, WAFER__RECORD_KIND__TERM_OPENED, 0));
    sequence++, write_record(record_new(sequence, WAFER__RECORD_KIND__CLOCK_SET, 0));
    sequence++, write_record(record_submitted(sequence, 7, "gpt"));
    sequence++, write_record(record_new(sequence, WAFER__RECORD_KIND__JOB_GRANTED, 7));
    sequence++;
    record = record_new(sequence, WAFER__RECORD_KIND__SYSTEM_CHANGED, 0);
    record->system = NEW(Wafer__SystemState);
    wafer__system_state__init(record->system);
    record->system->name = text_copy("s3");
    record->system->pool = text_copy("cs3");
    record->system->platform = text_copy("cs3");
    record->system->host = text_copy("host1");
    record->system->state = WAFER__SYSTEM__STATE__LOST;
    record->system->reason = text_copy("silent for 15 s");
    write_record(record);
    sequence++;
    record = record_new(sequence, WAFER__RECORD_KIND__ATTEMPT_ENDED, 7);
    record->has_cause = true;
    record->cause = WAFER__CAUSE__SYSTEM_LOST;
    record->text = text_copy("s3 is lost; it waits for another");
    write_record(record);
    sequence++, write_record(record_new(sequence, WAFER__RECORD_KIND__KEY_FORGOTTEN, 7));
    sequence++,
        write_record(record_checkpoint(sequence, 7, 1, 900, WAFER__CHECKPOINT__STATE__COMMITTED));
    durable();
}

#define LINE_1 "1 CONTROLLER_STARTED\n"
#define LINE_3 "3 JOB_SUBMITTED job=7 uid=1000\n"
#define LINE_4 "4 JOB_GRANTED job=7\n"
#define LINE_5 "5 SYSTEM_LOST system=s3 'silent for 15 s'\n"
#define LINE_6 "6 ATTEMPT_ENDED job=7 cause=12 's3 is lost; it waits for another'\n"
#define LINE_8 "8 CHECKPOINT_COMMITTED job=7\n"

START_TEST(events_are_what_people_read_oldest_of_the_newest_first)
{
    write_story();
    ck_assert_str_eq(events(0, 100), LINE_1 LINE_3 LINE_4 LINE_5 LINE_6 LINE_8);
    ck_assert_str_eq(events(0, 3), LINE_5 LINE_6 LINE_8);
    ck_assert_str_eq(events(0, 0), "");
    ck_assert_str_eq(events(7, 100), LINE_3 LINE_4 LINE_6 LINE_8);
    ck_assert_str_eq(events(7, 2), LINE_6 LINE_8);
    ck_assert_str_eq(events(8, 100), "");
}
END_TEST

START_TEST(the_newest_events_are_the_same_however_the_journal_is_cut_into_rows)
{
    struct buffer expected = BUFFER_EMPTY;

    for (size_t row = 1; row < 40; row += 3) {
        owned(free) Wafer__Record **records = memory_new(row * sizeof(*records));
        for (size_t i = 0; i < row; i++) {
            sequence++;
            records[i] = record_new(sequence,
                                    sequence % 3 ? WAFER__RECORD_KIND__JOB_HELD
                                                 : WAFER__RECORD_KIND__CLOCK_SET,
                                    sequence % 3);
        }
        store_queue(store, batch_new(records, row));
        durable();
    }
    for (size_t limit = 1; limit < 200; limit += 7) {
        size_t left = limit;
        uint64_t first = sequence + 1;
        while (left && first > 1)
            left -= --first % 3 != 0;
        buffer_clear(&expected);
        for (; first <= sequence; first++)
            if (first % 3)
                buffer_format(&expected, "%llu JOB_HELD job=%llu\n", (unsigned long long)first,
                              (unsigned long long)first % 3);
        buffer_append(&expected, "", 1);
        ck_assert_str_eq(events(0, limit), (char *)buffer_data(&expected));
    }
    buffer_done(&expected);
}
END_TEST

START_TEST(history_outlives_the_process)
{
    owned(shadow_done) struct shadow shadow = { .count = 0 };

    write_story();
    sequence++, write_record(record_ended(sequence, 7, 1000, "gpt"));
    durable();
    store_close(store);
    store = open_loaded(dir, &shadow);
    ck_assert_str_eq(jobs(false, 1000, 10, 1), "7 gpt\n");
    ck_assert_str_eq(events(7, 2), LINE_8 "9 JOB_ENDED job=7 cause=1 'all steps done'\n");
    ck_assert_str_eq(last_checkpoint(7), "7@900.1 at 900");
}
END_TEST

/* A kind that was forgotten would be told to nobody. */
START_TEST(every_kind_of_record_is_told_or_known_to_be_nobodys_business)
{
    const ProtobufCEnumDescriptor *type = &wafer__record_kind__descriptor;

    for (unsigned i = 0; i < type->n_values; i++) {
        Wafer__RecordKind kind = (Wafer__RecordKind)type->values[i].value;
        bool is_silent = kind == WAFER__RECORD_KIND__CLOCK_SET ||
                         kind == WAFER__RECORD_KIND__KEY_FORGOTTEN ||
                         kind == WAFER__RECORD_KIND__NOTIFY_QUEUED;
        /* These are told by the state that they carry, and jobs by their submission. */
        if (kind == WAFER__RECORD_KIND__CHECKPOINT_CHANGED ||
            kind == WAFER__RECORD_KIND__SYSTEM_CHANGED ||
            kind == WAFER__RECORD_KIND__QUEUE_CHANGED || kind == WAFER__RECORD_KIND__JOB_SUBMITTED)
            continue;
        uint64_t job = 100 + (uint64_t)kind;
        sequence++, write_record(record_new(sequence, kind, job));
        durable();
        buffer_clear(&said);
        struct diag diag;
        ck_assert_int_ge(store_history_events(store, job, 10, say_event, NULL, &diag), 0);
        ck_assert_msg(!said.length == is_silent, "%s is %s", type->values[i].name,
                      is_silent ? "told" : "not told");
    }
}
END_TEST

START_TEST(equal_specs_are_stored_once_while_they_are_fresh)
{
    owned(free) char *path = text_format("%s/state.db", dir);
    sqlite3 *database;
    sqlite3_stmt *statement;

    for (uint64_t job = 1; job <= 20; job++)
        sequence++, write_record(record_submitted(sequence, job, job % 2 ? "odd" : "even"));
    durable();
    ck_assert_int_eq(sqlite3_open(path, &database), SQLITE_OK);
    ck_assert_int_eq(
        sqlite3_prepare_v2(database, "SELECT count(*) FROM spec", -1, &statement, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(statement), SQLITE_ROW);
    ck_assert_int_eq(sqlite3_column_int(statement, 0), 2);
    sqlite3_finalize(statement);
    sqlite3_close(database);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("history");
    TCase *tcase = tcase_create("history");

    tcase_add_checked_fixture(tcase, make_store, remove_store);
    tcase_add_test(tcase, an_ended_job_is_found_with_view_state_and_spec);
    tcase_add_test(tcase, every_element_of_an_array_has_the_spec_and_the_submission_of_the_array);
    tcase_add_test(tcase, ended_jobs_come_newest_first_and_are_counted);
    tcase_add_test(tcase, a_newer_view_of_an_ended_job_replaces_the_older_and_counts_once);
    tcase_add_test(tcase, checkpoints_come_by_step_in_their_newest_state_until_deleted);
    tcase_add_test(tcase, an_ended_job_shows_what_became_of_its_checkpoints);
    tcase_add_test(tcase, events_are_what_people_read_oldest_of_the_newest_first);
    tcase_add_test(tcase, the_newest_events_are_the_same_however_the_journal_is_cut_into_rows);
    tcase_add_test(tcase, every_kind_of_record_is_told_or_known_to_be_nobodys_business);
    tcase_add_test(tcase, history_outlives_the_process);
    tcase_add_test(tcase, equal_specs_are_stored_once_while_they_are_fresh);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
