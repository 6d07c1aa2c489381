#include "workers.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/memory.h"

#define WORKER_THREADS 2

struct workers {
    pthread_t threads[WORKER_THREADS];
    unsigned thread_count;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t wanted;
    struct list quick, slow; /* not begun */
    struct list ended;
    unsigned slow_running;
    bool stop;
    int ended_fd; /* readable while `ended` may hold something */
    sd_event_source *source;
};

/* The next task for a thread, or NULL; under the lock. */
static struct task *next_task(struct workers *workers)
{
    struct list *queue = &workers->quick;

    if (list_is_empty(queue)) {
        queue = &workers->slow;
        if (list_is_empty(queue) || workers->slow_running >= WORKER_THREADS - 1)
            return NULL;
    }
    struct task *task = CONTAINER_OF(queue->next, struct task, link);
    list_remove(&task->link);
    return task;
}

static void *work(void *userdata)
{
    struct workers *workers = userdata;

    pthread_mutex_lock(&workers->lock);
    while (!workers->stop) {
        struct task *task = next_task(workers);
        if (!task) {
            pthread_cond_wait(&workers->wanted, &workers->lock);
            continue;
        }
        workers->slow_running += task->slow;
        pthread_mutex_unlock(&workers->lock);
        task->run(task);
        pthread_mutex_lock(&workers->lock);
        workers->slow_running -= task->slow;
        list_push_tail(&workers->ended, &task->link);
        pthread_cond_signal(&workers->wanted); /* a slow one may begin now */
        uint64_t one = 1;
        ssize_t written = write(workers->ended_fd, &one, sizeof(one));
        assert(written == sizeof(one));
    }
    pthread_mutex_unlock(&workers->lock);
    return NULL;
}

static int on_ended(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct workers *workers = userdata;
    uint64_t count;

    if (read(fd, &count, sizeof(count)) < 0)
        return 0; /* EAGAIN: taken already */
    for (;;) {
        pthread_mutex_lock(&workers->lock);
        struct list *link = workers->ended.next;
        bool none = link == &workers->ended;
        list_remove(link);
        pthread_mutex_unlock(&workers->lock);
        if (none)
            return 0;
        struct task *task = CONTAINER_OF(link, struct task, link);
        task->finish(task);
    }
}

/* Signals are the loop's: a worker takes none. */
static int start_thread(struct workers *workers, pthread_t *thread)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int r = -pthread_create(thread, NULL, work, workers);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return r;
}

int workers_new(sd_event *event, struct workers **ret, struct diag *diag)
{
    owned(workers_free) struct workers *workers = NEW(struct workers);

    pthread_mutex_init(&workers->lock, NULL);
    pthread_cond_init(&workers->wanted, NULL);
    list_init(&workers->quick);
    list_init(&workers->slow);
    list_init(&workers->ended);
    workers->ended_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (workers->ended_fd < 0)
        return diag_fail(diag, -errno, "cannot make an eventfd: %s", strerror(errno));
    int r = sd_event_add_io(event, &workers->source, workers->ended_fd, EPOLLIN, on_ended, workers);
    if (r < 0)
        return diag_fail(diag, r, "cannot watch the workers: %s", strerror(-r));
    for (unsigned i = 0; i < WORKER_THREADS; i++) {
        r = start_thread(workers, &workers->threads[i]);
        if (r < 0)
            return diag_fail(diag, r, "cannot start a worker thread: %s", strerror(-r));
        workers->thread_count++;
    }
    *ret = TAKE(workers);
    return 0;
}

static void drop_all(struct list *tasks)
{
    list_foreach_safe (tasks, link) {
        struct task *task = CONTAINER_OF(link, struct task, link);
        list_remove(link);
        task->drop(task);
    }
}

struct workers *workers_free(struct workers *workers)
{
    if (!workers)
        return NULL;
    pthread_mutex_lock(&workers->lock);
    workers->stop = true;
    pthread_cond_broadcast(&workers->wanted);
    pthread_mutex_unlock(&workers->lock);
    for (unsigned i = 0; i < workers->thread_count; i++)
        pthread_join(workers->threads[i], NULL);
    drop_all(&workers->quick);
    drop_all(&workers->slow);
    drop_all(&workers->ended);
    sd_event_source_unref(workers->source);
    fd_closep(&workers->ended_fd);
    pthread_cond_destroy(&workers->wanted);
    pthread_mutex_destroy(&workers->lock);
    free(workers);
    return NULL;
}

void workers_add(struct workers *workers, struct task *task)
{
    pthread_mutex_lock(&workers->lock);
    list_push_tail(task->slow ? &workers->slow : &workers->quick, &task->link);
    pthread_cond_signal(&workers->wanted);
    pthread_mutex_unlock(&workers->lock);
}
