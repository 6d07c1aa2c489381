/* place — a directory of a test's own, with the path of a socket in it. */
#ifndef WAFERD_TESTS_NET_PLACE_H
#define WAFERD_TESTS_NET_PLACE_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct place {
    char directory[64];
    char socket[96];
};

static inline void place_init(struct place *place)
{
    *place = (struct place){ .directory = "/tmp/waferd-net-XXXXXX" };
    ck_assert_ptr_nonnull(mkdtemp(place->directory));
    ck_assert_int_eq(chmod(place->directory, 0755), 0); /* others connect too */
    snprintf(place->socket, sizeof(place->socket), "%s/waferd.sock", place->directory);
}

static inline void place_done(struct place *place)
{
    unlink(place->socket);
    ck_assert_int_eq(rmdir(place->directory), 0);
}

#endif
