#include "receiver.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQUEST_MAX 65536

static const char *dir;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the two below */
static unsigned request_count;
static struct {
    char path[128];
    unsigned times;
} paths[64];

__attribute__((noreturn)) static void die(const char *what)
{
    perror(what);
    _exit(99);
}

int receiver_listen(unsigned *ret_port)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t length = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&address, length) < 0 || listen(fd, 64) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) < 0)
        die("a socket for the receiver");
    *ret_port = ntohs(address.sin_port);
    return fd;
}

/* Which time this path is asked for, from 1. */
static unsigned keep(const char *path, const char *request, size_t length)
{
    char name[512], done[512];
    unsigned times = 0;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths) && !times; i++)
        if (!*paths[i].path || strcmp(paths[i].path, path) == 0) {
            snprintf(paths[i].path, sizeof(paths[i].path), "%s", path);
            times = ++paths[i].times;
        }
    snprintf(done, sizeof(done), "%s/%u", dir, ++request_count);
    snprintf(name, sizeof(name), "%s/.new", dir);
    FILE *file = fopen(name, "w");
    if (!file || fwrite(request, 1, length, file) != length || fclose(file) != 0 ||
        rename(name, done) < 0)
        die("a request that was received");
    pthread_mutex_unlock(&lock);
    return times;
}

static int say(int fd, const char *text)
{
    return send(fd, text, strlen(text), MSG_NOSIGNAL) < 0 ? -1 : 0;
}

static void say_status(int fd, unsigned status, size_t length, const char *more)
{
    char head[256];

    snprintf(head, sizeof(head), "HTTP/1.1 %u Said\r\nContent-Length: %zu\r\n%s\r\n", status,
             length, more);
    say(fd, head);
}

static void flood(int fd, unsigned status)
{
    static char bytes[65536];

    say_status(fd, status, 100000000, "");
    for (size_t sent = 0; sent < 100000000; sent += sizeof(bytes))
        if (send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL) < 0)
            return;
}

static void drip(int fd)
{
    static const char text[] = "HTTP/1.1 200 Said\r\nContent-Length: 2\r\n\r\nok";

    for (size_t i = 0; text[i]; i++, usleep(50000))
        if (send(fd, &text[i], 1, MSG_NOSIGNAL) < 0)
            return;
}

static void never_end_the_head(int fd)
{
    if (say(fd, "HTTP/1.1 200 Said\r\n") < 0)
        return;
    while (say(fd, "X-More: and more and more and more\r\n") == 0)
        continue;
}

static void hang(int fd)
{
    poll(&(struct pollfd){ .fd = fd, .events = POLLRDHUP }, 1, 60000);
}

static void answer(int fd, const char *path, unsigned times)
{
    unsigned number = 0;

    if (sscanf(path, "/status/%u", &number) == 1)
        say_status(fd, number, 0, "");
    else if (sscanf(path, "/fail/%u", &number) == 1)
        say_status(fd, times <= number ? 500 : 200, 0, "");
    else if (strncmp(path, "/hang", 5) == 0)
        hang(fd);
    else if (strcmp(path, "/drip") == 0)
        drip(fd);
    else if (strcmp(path, "/flood") == 0)
        flood(fd, 200);
    else if (strcmp(path, "/floodfail") == 0)
        flood(fd, 500);
    else if (strcmp(path, "/headers") == 0)
        never_end_the_head(fd);
    else if (strcmp(path, "/redirect") == 0)
        say_status(fd, 302, 0, "Location: /ok\r\n");
    else if (strcmp(path, "/cut") == 0)
        say(fd, "HTTP/1.1 200 Said\r\nContent-");
    else if (strcmp(path, "/cutbody") == 0)
        say(fd, "HTTP/1.1 200 Said\r\nContent-Length: 100\r\n\r\nok");
    else if (strcmp(path, "/garbage") == 0)
        say(fd, "SSH-2.0-OpenSSH_9.2\r\n");
    else
        say_status(fd, 200, 0, "");
}

/* One request, as far as it came; its length, or 0. */
static size_t read_request(int fd, char *request)
{
    size_t length = 0, wanted = 0;

    while (length < REQUEST_MAX && (!wanted || length < wanted)) {
        ssize_t n = recv(fd, request + length, REQUEST_MAX - length, 0);
        if (n <= 0)
            return 0;
        length += (size_t)n;
        request[length] = '\0';
        const char *body = strstr(request, "\r\n\r\n");
        const char *field = strcasestr(request, "\r\nContent-Length: ");
        if (body)
            wanted = (size_t)(body + 4 - request) + (field ? strtoul(field + 18, NULL, 10) : 0);
    }
    return length;
}

static void *serve_one(void *userdata)
{
    static _Thread_local char request[REQUEST_MAX + 1];
    int fd = (int)(intptr_t)userdata;
    size_t length = read_request(fd, request);
    char path[128];

    if (length && sscanf(request, "%*s %127s", path) == 1)
        answer(fd, path, keep(path, request, length));
    close(fd);
    return NULL;
}

void receiver_serve(int fd, const char *directory)
{
    dir = directory;
    for (;;) {
        int client = accept(fd, NULL, NULL);
        pthread_t thread;
        if (client < 0 || pthread_create(&thread, NULL, serve_one, (void *)(intptr_t)client))
            die("a client of the receiver");
        pthread_detach(thread);
    }
}
