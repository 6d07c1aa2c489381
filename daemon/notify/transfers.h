/* transfers — libcurl's multi interface on an sd-event loop: many transfers, no thread of ours. */
#ifndef WAFERD_NOTIFY_TRANSFERS_H
#define WAFERD_NOTIFY_TRANSFERS_H

#include <curl/curl.h>
#include <systemd/sd-event.h>

#include "base/cleanup.h"
#include "base/diag.h"

struct transfers;

/* A transfer has ended: its handle is the callee's again. Called from the loop, never from
 * transfers_add(). */
typedef void (*transfers_done_fn)(void *userdata, CURL *easy, CURLcode result);

int transfers_new(sd_event *event, transfers_done_fn done, void *userdata, struct transfers **ret,
                  struct diag *diag);
/* All handles must have been removed. Always NULL. */
struct transfers *transfers_free(struct transfers *transfers);
OWNED_DEFINE(transfers_free, struct transfers *);

int transfers_add(struct transfers *transfers, CURL *easy, struct diag *diag);
void transfers_remove(struct transfers *transfers, CURL *easy); /* one that has not ended */

#endif
