/* directory — files below an open directory, never through a link.
 *
 * Every name is one component that the vault made itself, so an open without following links
 * cannot leave the directory.
 *
 * Errors  0 or a negative errno, without a sentence: callers know what the file is for.
 *         -EBADMSG: something of another kind is there, a link for example
 */
#ifndef WAFERD_VAULT_DIRECTORY_H
#define WAFERD_VAULT_DIRECTORY_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

OWNED_DEFINE(closedir, DIR *);

int directory_open(int parent, const char *name, int *ret_fd);
/* Make it if need be; a new one is durable after directory_sync() of its parent. */
int directory_make(int parent, const char *name, int *ret_fd);
int directory_sync(int directory);
/* -ENOTEMPTY; what is not there is removed */
int directory_remove(int parent, const char *name);
/* Read entries from the start, with a descriptor of its own. */
int directory_list(int directory, DIR **ret);
/* The highest number that is a name there, if it is above `ret`. */
int directory_last_number(int directory, uint64_t *ret);

/* Write a file whole: either all of it is there under its name, or what was there before. Its bytes
 * are durable; the name is after directory_sync(). With `replace` false a file that exists stays:
 * -EEXIST. */
int file_write(int directory, const char *name, const void *bytes, size_t length, bool replace);

/* Open a regular file; `flags` O_RDONLY or O_RDWR, with O_CREAT and O_EXCL if need be. */
int file_open(int directory, const char *name, int flags, int *ret_fd, int64_t *ret_bytes);
int file_remove(int directory, const char *name); /* what is not there is removed */

/* All of it. -ENODATA: the file is shorter */
int file_read_at(int fd, uint64_t offset, void *bytes, size_t length);
int file_write_at(int fd, uint64_t offset, const void *bytes, size_t length);

#endif
