#include "cli/list_watch.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/duration.h"
#include "base/memory.h"
#include "cli/job_list.h"
#include "cli/job_text.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/user.h"
#include "model/job.h"

#define DEFAULT_INTERVAL_US (2 * SECOND_US)

struct list_watcher {
    const struct command *command;
    Wafer__ListRequest *asked;
    const struct job_filter *filter;
    Wafer__Time now;     /* when the list began: for --since */
    Wafer__JobList list; /* what is shown; the items are ours */
    size_t capacity;
    bool is_screen; /* drawn again, not told line by line */
    bool is_dirty;
    int64_t interval_us, next_draw_us;
};

static size_t find(const struct list_watcher *watcher, uint64_t id)
{
    size_t i = 0;

    while (i < watcher->list.n_items && watcher->list.items[i]->id != id)
        i++;
    return i;
}

static void tell(const struct list_watcher *watcher, const Wafer__Job *before,
                 const Wafer__Job *job)
{
    const struct command *command = watcher->command;

    if (!watcher->is_screen && !noun_print_item(command, &job_noun, &job->base, true)) {
        owned(free) char *changes = progress_changes(before, job, true);
        for (char *line = changes, *rest = changes; (line = strsep(&rest, "\n"));)
            if (*line)
                output_line(command, "%s", line);
    }
}

static void tell_removed(const struct list_watcher *watcher, uint64_t id)
{
    if (!command_is_json(watcher->command))
        return;
    Wafer__Removal removal = WAFER__REMOVAL__INIT;

    removal.event = (char *)"removed";
    removal.has_id = true;
    removal.id = id;
    output_json_line(&removal.base);
}

static void remove_job(struct list_watcher *watcher, uint64_t id)
{
    size_t i = find(watcher, id);

    if (i == watcher->list.n_items)
        return;
    tell_removed(watcher, id);
    wafer__job__free_unpacked(watcher->list.items[i], NULL);
    watcher->list.n_items--;
    memmove(&watcher->list.items[i], &watcher->list.items[i + 1],
            (watcher->list.n_items - i) * sizeof(*watcher->list.items));
    watcher->is_dirty = true;
}

/* Takes the job. */
static void take_job(struct list_watcher *watcher, Wafer__Job *job)
{
    size_t i = find(watcher, job->id);
    bool is_known = i < watcher->list.n_items;

    if (!is_known && !job_filter_shows(watcher->filter, job, &watcher->now)) {
        wafer__job__free_unpacked(job, NULL);
        return;
    }
    user_fill(job);
    tell(watcher, is_known ? watcher->list.items[i] : NULL, job);
    if (is_known) {
        wafer__job__free_unpacked(watcher->list.items[i], NULL);
    } else {
        ARRAY_RESERVE(watcher->list.items, watcher->list.n_items, watcher->capacity);
        watcher->list.n_items++;
    }
    watcher->list.items[i] = job;
    watcher->is_dirty = true;
    /* A list of live jobs loses those that end. */
    if (job_state_is_terminal(job->state) && !watcher->asked->ended)
        remove_job(watcher, job->id);
}

static void take_response(struct list_watcher *watcher, Wafer__Response *response)
{
    Wafer__Job **jobs;
    size_t count = response_jobs(response, &jobs);

    if (!watcher->now.us && response->body_case == WAFER__RESPONSE__BODY_JOBS &&
        response->jobs->generated_at)
        watcher->now.us = response->jobs->generated_at->us;
    for (size_t i = 0; i < count; i++) {
        Wafer__Job *job = jobs[i];
        jobs[i] = NULL;
        take_job(watcher, job);
    }
    if (response->body_case == WAFER__RESPONSE__BODY_JOBS) {
        response->jobs->n_items = 0; /* taken */
        watcher->is_dirty = true;    /* that there are none is news too */
    }
    if (response->body_case == WAFER__RESPONSE__BODY_REMOVED)
        for (size_t i = 0; i < response->removed->n_ids; i++)
            remove_job(watcher, response->removed->ids[i]);
    if (response->has_missed && response->missed && !watcher->is_screen)
        message_note(watcher->command, "%llu changes were missed: this reader was too slow",
                     (unsigned long long)response->missed);
}

static void forget_jobs(struct list_watcher *watcher)
{
    for (size_t i = 0; i < watcher->list.n_items; i++)
        wafer__job__free_unpacked(watcher->list.items[i], NULL);
    watcher->list.n_items = 0;
    watcher->is_dirty = true;
}

static void draw(struct list_watcher *watcher)
{
    if (!watcher->is_screen || !watcher->is_dirty)
        return;
    screen_clear(&watcher->command->out);
    job_filter_sort(watcher->filter, watcher->list.items, watcher->list.n_items);
    if (!noun_print_list(watcher->command, &job_noun, &watcher->list.base))
        job_list_print(watcher->command, &watcher->list, NULL);
    watcher->is_dirty = false;
    watcher->next_draw_us = connection_now_us() + watcher->interval_us;
}

static int watch(struct list_watcher *watcher, struct connection **connection,
                 Wafer__Request *request)
{
    int exit = connection_send(*connection, request);

    while (!exit && output_flush()) {
        owned(response_free) Wafer__Response *response = NULL;
        int64_t deadline_us = watcher->is_screen && watcher->is_dirty ? watcher->next_draw_us : -1;
        enum next next = connection_next(*connection, deadline_us, &response);

        if (next == NEXT_DEADLINE) {
            draw(watcher);
        } else if (next == NEXT_GONE) {
            if (connection_reopen(connection, -1) == NEXT_GONE)
                return connection_gone(*connection);
            if (watcher->is_screen)
                forget_jobs(watcher); /* what ended meanwhile is not told */
            exit = connection_send(*connection, request);
        } else if (response->body_case == WAFER__RESPONSE__BODY_ERROR) {
            return message_refused(watcher->command, response->error);
        } else {
            take_response(watcher, response);
            if (!response->has_more || !response->more)
                break;
        }
    }
    draw(watcher);
    return exit;
}

int list_watch_interval(const struct command *command, int64_t *ret_us)
{
    const char *text = command->values[FLAG_WATCH];

    *ret_us = DEFAULT_INTERVAL_US;
    return text && *text ? command_duration(command, FLAG_WATCH, ret_us) : 0;
}

bool list_is_drawn(const struct command *command)
{
    return command->out.is_terminal &&
           (command_is_for_people(command) || command->format == FORMAT_COLUMNS);
}

int list_watch(const struct command *command, const struct job_filter *filter,
               struct connection **connection, Wafer__Request *request, int64_t interval_us)
{
    struct list_watcher watcher = {
        .command = command,
        .asked = request->list,
        .filter = filter,
        .now = WAFER__TIME__INIT,
        .list = WAFER__JOB_LIST__INIT,
        .is_screen = list_is_drawn(command),
        .interval_us = interval_us,
    };

    request->list->has_watch = request->list->watch = true;
    int exit = watch(&watcher, connection, request);
    forget_jobs(&watcher);
    free(watcher.list.items);
    return exit;
}
