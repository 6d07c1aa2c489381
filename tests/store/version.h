/* version — a state directory as an earlier version left it, kept as text.
 *
 * tests/store/vN/ holds state.sql, SEQUENCE.snap.hex and expected.txt. test_version made them; it
 * makes those of the current version when asked, to be kept when the schema gets a new one. */
#ifndef WAFERD_TESTS_STORE_VERSION_H
#define WAFERD_TESTS_STORE_VERSION_H

#include "base/buffer.h"

#define VERSION_SNAPSHOT 9 /* the record that the snapshot was taken at */

void version_keep(const char *dir, const char *kept);    /* from a state directory to text */
void version_restore(const char *kept, const char *dir); /* and back */
char *version_read(const char *kept, const char *name);
void version_write(const char *path, const void *bytes, size_t length);

/* Load the directory and say everything that the store tells about it. */
void version_say(const char *dir, struct buffer *said);

#endif
