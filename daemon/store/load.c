#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "store/database.h"
#include "store/inside.h"
#include "store/row.h"

struct load {
    struct store *store;
    const struct store_load_ops *ops;
    void *userdata;
    uint64_t next_sequence;
    /* Of the row before. They differ when it is damaged: then the next row tells which is right,
     * the one that stands in the row or the one that its contents have now. */
    struct digest stored, computed;
    bool damaged; /* in the current row a record is */
};

static void note(struct load *load, const char *text)
{
    if (load->ops->note)
        load->ops->note(load->userdata, text);
}

/* ---- the snapshot ---- */

/* The newest that can be read. Without one the whole journal is replayed: it is all there. */
static void load_snapshot(struct load *load)
{
    struct snapshots *snapshots = &load->store->snapshots;

    load->ops->reset(load->userdata);
    while (snapshots->count) {
        struct diag why;
        uint64_t sequence = snapshots->sequences[0];
        if (snapshots_read(snapshots, sequence, load->ops, load->userdata, &why) >= 0) {
            load->next_sequence = sequence + 1;
            return;
        }
        note(load, why.text);
        snapshots_set_aside(snapshots, sequence);
        load->ops->reset(load->userdata);
    }
}

/* ---- the journal ---- */

static int on_unreadable(void *userdata, uint64_t job, uint64_t sequence, const char *why,
                         struct diag *diag)
{
    struct load *load = userdata;

    if (!job)
        return diag_fail(diag, -EBADMSG, "record %" PRIu64 " cannot be read: %s", sequence, why);
    load->damaged = true;
    load->ops->unreadable(load->userdata, job, sequence, why);
    return 0;
}

static int on_record(void *userdata, Wafer__Record *record, struct diag *diag)
{
    struct load *load = userdata;
    struct diag why = { "" };
    uint64_t job = record->array_count > 1 ? 0 : record->job, sequence = record->sequence;
    int r = load->ops->record(load->userdata, record, &why);

    wafer__record__free_unpacked(record, NULL);
    if (r >= 0)
        return 0;
    return on_unreadable(load, job, sequence, why.text, diag);
}

static const struct row_ops row_ops = { .record = on_record, .unreadable = on_unreadable };

static bool chain_fits(const struct load *load, const struct row *row, struct digest *ret_chain)
{
    row_chain(row, &load->stored, ret_chain);
    if (digest_is_equal(ret_chain, &row->chain))
        return true;
    if (digest_is_equal(&load->stored, &load->computed))
        return false;
    struct digest other;
    row_chain(row, &load->computed, &other);
    if (!digest_is_equal(&other, &row->chain))
        return false;
    *ret_chain = other;
    return true;
}

static int load_row(struct load *load, struct row *row, struct diag *diag)
{
    struct digest computed;
    uint64_t held;
    bool fits = chain_fits(load, row, &computed);

    load->damaged = false;
    int r = row_read(row, load->next_sequence, UINT64_MAX, &row_ops, load, &held, diag);
    if (r < 0)
        return r;
    if (held != row->count) { /* the number may be what is damaged */
        row->count = held;
        if (fits || !chain_fits(load, row, &computed))
            return diag_fail(diag, -EBADMSG,
                             "journal row %" PRIu64 " ends after %" PRIu64
                             " records: some are lost",
                             row->first_sequence, held);
    }
    if (!fits && !load->damaged) {
        struct diag text;
        diag_fail(&text, 0, "journal row %" PRIu64 ": its hash does not fit; its records are whole",
                  row->first_sequence);
        note(load, text.text);
    }
    if (row->first_sequence + held < load->next_sequence)
        return diag_fail(diag, -EBADMSG,
                         "the journal ends at record %" PRIu64 ", before the snapshot of record "
                         "%" PRIu64 ": put a copy of the whole directory in its place",
                         row->first_sequence + held - 1, load->next_sequence - 1);
    load->next_sequence = row->first_sequence + held;
    load->stored = row->chain;
    load->computed = computed;
    return 0;
}

static int fail_gap(const struct load *load, const struct row *row, struct diag *diag)
{
    return diag_fail(diag, -EBADMSG,
                     "the journal has a gap: after record %" PRIu64 " comes row %" PRIu64
                     ": put a copy of the whole directory in its place",
                     load->next_sequence - 1, row->first_sequence);
}

static void row_of(sqlite3_stmt *statement, struct row *ret)
{
    *ret = (struct row){
        .first_sequence = (uint64_t)sqlite3_column_int64(statement, 0),
        .count = (uint64_t)sqlite3_column_int64(statement, 1),
        .records = sqlite3_column_blob(statement, 3),
        .length = (size_t)sqlite3_column_bytes(statement, 3),
    };
    if (sqlite3_column_bytes(statement, 2) == DIGEST_BYTES)
        memcpy(ret->chain.bytes, sqlite3_column_blob(statement, 2), DIGEST_BYTES);
}

/* Where the row with the next record begins, and the chain of the row before that. */
static int find_start(struct load *load, uint64_t *ret_first, struct diag *diag)
{
    owned(sqlite3_finalize) sqlite3_stmt *statement = NULL;
    sqlite3 *reader = load->store->reader;
    int r = database_prepare(reader,
                             "SELECT first_sequence, chain FROM journal WHERE first_sequence <= ?1"
                             " ORDER BY first_sequence DESC LIMIT 2",
                             &statement, diag);

    if (r < 0)
        return r;
    *ret_first = load->next_sequence;
    database_bind(statement, 1, load->next_sequence);
    r = database_next(reader, statement, diag);
    if (r <= 0)
        return r;
    *ret_first = (uint64_t)sqlite3_column_int64(statement, 0);
    r = database_next(reader, statement, diag);
    if (r > 0 && sqlite3_column_bytes(statement, 1) == DIGEST_BYTES)
        memcpy(load->stored.bytes, sqlite3_column_blob(statement, 1), DIGEST_BYTES);
    load->computed = load->stored;
    return r < 0 ? r : 0;
}

static int load_rows(struct load *load, struct diag *diag)
{
    owned(sqlite3_finalize) sqlite3_stmt *statement = NULL;
    sqlite3 *reader = load->store->reader;
    uint64_t first, wanted = load->next_sequence;
    int r = find_start(load, &first, diag);

    if (r >= 0)
        r = database_prepare(reader,
                             "SELECT first_sequence, count, chain, records FROM journal"
                             " WHERE first_sequence >= ?1 ORDER BY first_sequence",
                             &statement, diag);
    if (r < 0)
        return r;
    database_bind(statement, 1, first);
    for (bool is_first = true; (r = database_next(reader, statement, diag)) > 0; is_first = false) {
        struct row row;
        row_of(statement, &row);
        if (is_first ? row.first_sequence > wanted : row.first_sequence != load->next_sequence)
            return fail_gap(load, &row, diag);
        r = load_row(load, &row, diag);
        if (r < 0)
            return r;
    }
    if (r < 0)
        return r;
    return 0;
}

int store_load(struct store *store, const struct store_load_ops *ops, void *userdata,
               struct diag *diag)
{
    struct load load = { .store = store, .ops = ops, .userdata = userdata, .next_sequence = 1 };

    load_snapshot(&load);
    int r = load_rows(&load, diag);
    if (r < 0)
        return r;
    writer_start(store->writer, load.next_sequence, &load.stored);
    return 0;
}
