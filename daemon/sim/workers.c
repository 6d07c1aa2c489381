#include "sim/workers.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "base/memory.h"

struct workers {
    pthread_mutex_t mutex; /* of all below but `pending` */
    pthread_cond_t posted, ran;
    struct list waiting, finished;
    bool ending;

    size_t pending; /* posted and not done; the loop's */
    int wake_fd;    /* tells the loop that `finished` is not empty */
    sd_event_source *source;
    pthread_t *threads;
    unsigned thread_count;
};

static void run_one(struct workers *workers)
{
    struct task *task = CONTAINER_OF(workers->waiting.next, struct task, link);

    list_remove(&task->link);
    pthread_mutex_unlock(&workers->mutex);
    task->run(task);
    pthread_mutex_lock(&workers->mutex);

    bool wake = list_is_empty(&workers->finished);
    list_push_tail(&workers->finished, &task->link);
    pthread_cond_signal(&workers->ran);
    if (wake) {
        int r = eventfd_write(workers->wake_fd, 1);
        assert(r == 0); /* the counter cannot be full: the loop empties it with the list */
    }
}

static void *work(void *userdata)
{
    struct workers *workers = userdata;

    pthread_mutex_lock(&workers->mutex);
    for (;;) {
        while (list_is_empty(&workers->waiting) && !workers->ending)
            pthread_cond_wait(&workers->posted, &workers->mutex);
        if (list_is_empty(&workers->waiting))
            break;
        run_one(workers);
    }
    pthread_mutex_unlock(&workers->mutex);
    return NULL;
}

static struct task *take_finished(struct workers *workers, bool wait)
{
    struct task *task = NULL;

    pthread_mutex_lock(&workers->mutex);
    while (wait && list_is_empty(&workers->finished))
        pthread_cond_wait(&workers->ran, &workers->mutex);
    if (!list_is_empty(&workers->finished)) {
        task = CONTAINER_OF(workers->finished.next, struct task, link);
        list_remove(&task->link);
        workers->pending--;
    }
    pthread_mutex_unlock(&workers->mutex);
    return task;
}

static int on_wake(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct workers *workers = userdata;
    eventfd_t count;

    if (eventfd_read(fd, &count) < 0) /* emptied already */
        return 0;
    for (struct task *task; (task = take_finished(workers, false));)
        task->done(task);
    return 0;
}

int workers_new(sd_event *event, unsigned threads, struct workers **ret)
{
    owned(workers_free) struct workers *workers = NEW(struct workers);

    pthread_mutex_init(&workers->mutex, NULL);
    pthread_cond_init(&workers->posted, NULL);
    pthread_cond_init(&workers->ran, NULL);
    list_init(&workers->waiting);
    list_init(&workers->finished);
    workers->threads = memory_resize(NULL, threads, sizeof(*workers->threads));
    workers->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (workers->wake_fd < 0)
        return -errno;
    int r = sd_event_add_io(event, &workers->source, workers->wake_fd, EPOLLIN, on_wake, workers);
    if (r < 0)
        return r;
    while (workers->thread_count < threads) {
        r = pthread_create(&workers->threads[workers->thread_count], NULL, work, workers);
        if (r != 0)
            return -r;
        workers->thread_count++;
    }
    *ret = TAKE(workers);
    return 0;
}

void workers_post(struct workers *workers, struct task *task)
{
    workers->pending++;
    pthread_mutex_lock(&workers->mutex);
    list_push_tail(&workers->waiting, &task->link);
    pthread_cond_signal(&workers->posted);
    pthread_mutex_unlock(&workers->mutex);
}

void workers_finish(struct workers *workers)
{
    while (workers->pending > 0) {
        struct task *task = take_finished(workers, true);
        task->done(task);
    }
}

struct workers *workers_free(struct workers *workers)
{
    if (!workers)
        return NULL;
    workers_finish(workers);
    pthread_mutex_lock(&workers->mutex);
    workers->ending = true;
    pthread_cond_broadcast(&workers->posted);
    pthread_mutex_unlock(&workers->mutex);
    for (unsigned i = 0; i < workers->thread_count; i++)
        pthread_join(workers->threads[i], NULL);
    sd_event_source_disable_unref(workers->source);
    fd_closep(&workers->wake_fd);
    pthread_cond_destroy(&workers->posted);
    pthread_cond_destroy(&workers->ran);
    pthread_mutex_destroy(&workers->mutex);
    free(workers->threads);
    free(workers);
    return NULL;
}
