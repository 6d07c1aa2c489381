/* dev — `--dev DIR`: one person's controller, with simulated systems of its own.
 *
 * These are a process of their own, wafersim, in a session of its own: it survives a kill of this
 * one and is taken over by the next. Whenever it dies it is started again. */
#ifndef WAFERD_DEV_H
#define WAFERD_DEV_H

#include <stdbool.h>

#include "base/diag.h"
#include "options.h"

struct daemon;
struct dev;

/* Make DIR, for this user alone. */
int dev_prepare(const char *dir, struct diag *diag);

/* The directory of platform files, which the caller frees.
 * -ENOENT  with the places that were looked at */
int dev_find_platforms(char **ret, struct diag *diag);

/* Whether the wafersim of an earlier run is alive. */
bool dev_systems_are_alive(const char *dir);

/* Start wafersim, or wait for the one that is alive to register again. The agents' socket must be
 * there. -ENOENT: no such program, with the places that were looked at */
int dev_new(struct daemon *daemon, const struct options *options, struct dev **ret,
            struct diag *diag);
void dev_registered(struct dev *dev); /* the systems are there */
/* Ends wafersim too. Always NULL. */
struct dev *dev_free(struct dev *dev);

#endif
