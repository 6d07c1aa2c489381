/* receiver — a web server on this machine that does whatever a bad one may do, as its path says:
 *
 *     /ok /status/N     answer, with 200 or N
 *     /fail/N/...       500 the first N times, then 200
 *     /hang             take the request, never answer
 *     /drip             answer, a byte each 50 ms
 *     /flood /floodfail 200 or 500, and 100 MB
 *     /headers          a head without an end
 *     /redirect         to /ok
 *     /cut /cutbody     close in the middle of the head, or of the body
 *     /garbage          no HTTP
 *
 * Each whole request is a file of the directory: 1, 2, 3 ... */
#ifndef WAFERD_TESTS_NOTIFY_RECEIVER_H
#define WAFERD_TESTS_NOTIFY_RECEIVER_H

/* A socket on a port of 127.0.0.1 that is free. */
int receiver_listen(unsigned *ret_port);
/* Serve until the process ends. */
void receiver_serve(int fd, const char *dir) __attribute__((noreturn));

#endif
