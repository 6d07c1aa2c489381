#include "streams.h"

#include <errno.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "sight.h"
#include "tap.h"

#define CLIENT  7
#define REQUEST 3

/* A client whose connection can be full, and what it was sent, one line a message. */
static struct streams *streams;
static struct buffer sent;
static int send_error;

static void note_jobs(const Wafer__JobList *jobs)
{
    buffer_format(&sent, "jobs");
    for (size_t i = 0; i < jobs->n_items; i++)
        buffer_format(&sent, " %d", (int)jobs->items[i]->id);
}

static void note_events(const Wafer__EventList *events)
{
    buffer_format(&sent, "events");
    for (size_t i = 0; i < events->n_items; i++)
        buffer_format(&sent, " %d", (int)events->items[i]->sequence);
}

static int on_send(void *userdata, uint64_t client, const Wafer__Response *response)
{
    ck_assert_uint_eq(client, CLIENT);
    ck_assert_uint_eq(response->id, REQUEST);
    if (send_error)
        return send_error;
    if (response->missed)
        buffer_format(&sent, "missed %d: ", (int)response->missed);
    switch (response->body_case) {
    case WAFER__RESPONSE__BODY_JOB:
        buffer_format(&sent, "job v%d", (int)response->job->version);
        break;
    case WAFER__RESPONSE__BODY_JOBS: note_jobs(response->jobs); break;
    case WAFER__RESPONSE__BODY_EVENTS: note_events(response->events); break;
    case WAFER__RESPONSE__BODY_REMOVED:
        buffer_format(&sent, "removed %d", (int)response->removed->ids[0]);
        break;
    default: ck_abort_msg("unexpected response");
    }
    buffer_append_text(&sent, response->more ? "\n" : " (last)\n");
    return 0;
}

/* What the client may see: his own, or all. */
static bool sees_all;

static bool sees_job(void *userdata, uint64_t client, const Wafer__Job *view)
{
    return sees_all || view->uid == 1000;
}

static bool sees_event(void *userdata, uint64_t client, const Wafer__Event *event,
                       const struct sight_object *object)
{
    return sees_all || !object->known || object->object.owner == 1000;
}

static const struct streams_ops ops = { .send = on_send,
                                        .sees_job = sees_job,
                                        .sees_event = sees_event };

static const struct stream_reader reader = { .client = CLIENT, .request = REQUEST, .uid = 1000 };

static void setup(void)
{
    sees_all = false;
    streams = streams_new(&ops, NULL);
    send_error = 0;
}

static void teardown(void)
{
    streams_free(streams);
    buffer_done(&sent);
}

static void assert_sent(const char *expected)
{
    char *text = buffer_text(&sent);

    ck_assert_str_eq(text, expected);
    free(text);
}

static void change_of(uint64_t job, uid_t uid, uint64_t version, Wafer__Job__State state,
                      bool removed)
{
    Wafer__Job view = WAFER__JOB__INIT;

    view.id = job;
    view.has_uid = view.has_version = view.has_state = true;
    view.uid = uid;
    view.version = version;
    view.state = state;
    streams_on_job(streams, &view, removed);
}

static void change(uint64_t job, uint64_t version, bool removed)
{
    change_of(job, 1000, version, WAFER__JOB__STATE__RUNNING, removed);
}

static void event(uint64_t sequence, uint64_t job, uid_t owner)
{
    Wafer__Event event = WAFER__EVENT__INIT;
    Wafer__Time at = WAFER__TIME__INIT;

    event.sequence = sequence;
    event.at = &at;
    event.kind = (char *)"JOB_STARTED";
    event.has_job = job > 0;
    event.job = job;
    struct sight_object object = { .object.owner = owner, .known = job > 0 };
    streams_on_event(streams, &event, &object);
}

START_TEST(a_watched_job_is_told_until_it_has_ended)
{
    streams_watch_job(streams, &reader, 5);
    change(5, 1, false);
    change(6, 9, false);
    change(5, 2, true);
    change(5, 3, false);
    assert_sent("job v1\njob v2 (last)\n");
    ck_assert(!streams_want_views(streams));
}
END_TEST

START_TEST(a_slow_watcher_of_a_job_gets_its_newest_state_and_always_the_last)
{
    streams_watch_job(streams, &reader, 5);
    send_error = -ENOBUFS;
    for (uint64_t version = 1; version <= 1000; version++)
        change(5, version, version == 1000);
    streams_turn(streams);
    assert_sent("");
    send_error = 0;
    streams_turn(streams);
    assert_sent("missed 999: job v1000 (last)\n");
    ck_assert(!streams_want_views(streams));
}
END_TEST

START_TEST(a_state_that_did_not_fit_is_overtaken_by_a_newer_one_that_does)
{
    streams_watch_job(streams, &reader, 5);
    send_error = -ENOBUFS;
    change(5, 1, false);
    send_error = 0;
    change(5, 2, false);
    streams_turn(streams);
    change(5, 3, false);
    assert_sent("missed 1: job v2\njob v3\n");
}
END_TEST

START_TEST(a_slow_reader_of_a_list_is_told_how_much_it_missed)
{
    Wafer__ListRequest all = WAFER__LIST_REQUEST__INIT;

    streams_watch_list(streams, &reader, &all);
    send_error = -ENOBUFS;
    change(1, 1, false);
    change(2, 1, false);
    send_error = 0;
    change(3, 1, false);
    change(4, 1, false);
    assert_sent("missed 2: jobs 3\njobs 4\n");
}
END_TEST

START_TEST(what_was_missed_is_told_even_if_nothing_more_happens)
{
    Wafer__ListRequest all = WAFER__LIST_REQUEST__INIT;

    streams_watch_list(streams, &reader, &all);
    send_error = -ENOBUFS;
    change(1, 1, false);
    send_error = 0;
    streams_turn(streams);
    streams_turn(streams);
    assert_sent("missed 1: jobs\n");
}
END_TEST

START_TEST(a_list_shows_own_jobs_only_unless_all_are_asked_for_and_allowed)
{
    Wafer__ListRequest own = WAFER__LIST_REQUEST__INIT, all = own;

    all.has_all_users = all.all_users = true;
    streams_watch_list(streams, &reader, &all);
    change_of(1, 1000, 1, WAFER__JOB__STATE__RUNNING, false);
    change_of(2, 2000, 1, WAFER__JOB__STATE__RUNNING, false); /* asked for, not allowed */
    assert_sent("jobs 1\n");
    streams_drop_client(streams, CLIENT);

    sees_all = true;
    streams_watch_list(streams, &reader, &own);
    change_of(2, 2000, 1, WAFER__JOB__STATE__RUNNING, false); /* allowed, not asked for */
    assert_sent("");
    streams_drop_client(streams, CLIENT);

    streams_watch_list(streams, &reader, &all);
    change_of(2, 2000, 1, WAFER__JOB__STATE__RUNNING, false);
    assert_sent("jobs 2\n");
}
END_TEST

START_TEST(a_job_that_no_longer_fits_the_filter_is_removed_from_the_list)
{
    Wafer__ListRequest filter = WAFER__LIST_REQUEST__INIT;
    Wafer__Job__State running = WAFER__JOB__STATE__RUNNING;

    filter.n_states = 1;
    filter.states = &running;
    streams_watch_list(streams, &reader, &filter);
    change_of(1, 1000, 1, WAFER__JOB__STATE__RUNNING, false);
    change_of(1, 1000, 2, WAFER__JOB__STATE__PENDING, false);
    assert_sent("jobs 1\nremoved 1\n");
}
END_TEST

START_TEST(events_are_told_once_and_to_whoever_may_see_them)
{
    streams_watch_events(streams, &reader, 0, 10);
    event(10, 1, 1000); /* in what the reader was sent before */
    event(11, 1, 1000);
    event(12, 2, 2000); /* somebody else's */
    event(13, 0, 0);    /* of the pool */
    assert_sent("events 11\nevents 13\n");
}
END_TEST

START_TEST(events_of_one_job_are_told_as_long_as_its_reader_may_see_it)
{
    sees_all = true;
    streams_watch_events(streams, &reader, 2, 10);
    event(11, 1, 1000);
    event(12, 2, 2000);
    event(13, 0, 0);
    sees_all = false;
    event(14, 2, 2000);
    assert_sent("events 12\n");
}
END_TEST

START_TEST(a_client_that_is_gone_has_no_streams)
{
    streams_watch_events(streams, &reader, 0, 0);
    streams_watch_job(streams, &reader, 1);
    ck_assert_uint_eq(streams_of_client(streams, CLIENT), 2);
    send_error = -ENOTCONN; /* found out while sending */
    event(1, 0, 0);
    ck_assert_uint_eq(streams_of_client(streams, CLIENT), 1);
    streams_drop_client(streams, CLIENT);
    ck_assert_uint_eq(streams_of_client(streams, CLIENT), 0);
    ck_assert(!streams_want_views(streams) && !streams_want_events(streams));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("streams");
    TCase *tcase = tcase_create("streams");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_watched_job_is_told_until_it_has_ended);
    tcase_add_test(tcase, a_slow_watcher_of_a_job_gets_its_newest_state_and_always_the_last);
    tcase_add_test(tcase, a_state_that_did_not_fit_is_overtaken_by_a_newer_one_that_does);
    tcase_add_test(tcase, a_slow_reader_of_a_list_is_told_how_much_it_missed);
    tcase_add_test(tcase, what_was_missed_is_told_even_if_nothing_more_happens);
    tcase_add_test(tcase, a_list_shows_own_jobs_only_unless_all_are_asked_for_and_allowed);
    tcase_add_test(tcase, a_job_that_no_longer_fits_the_filter_is_removed_from_the_list);
    tcase_add_test(tcase, events_are_told_once_and_to_whoever_may_see_them);
    tcase_add_test(tcase, events_of_one_job_are_told_as_long_as_its_reader_may_see_it);
    tcase_add_test(tcase, a_client_that_is_gone_has_no_streams);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
