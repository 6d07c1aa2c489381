/* inside — what the files of the store share. */
#ifndef WAFERD_STORE_INSIDE_H
#define WAFERD_STORE_INSIDE_H

#include <sqlite3.h>

#include "store/reserve.h"
#include "store/snapshot.h"
#include "store/store.h"
#include "store/writer.h"

struct store {
    int lock;
    struct reserve reserve;
    struct snapshots snapshots;
    struct writer *writer;
    sqlite3 *reader; /* sees what has been committed */
};

#endif
