/* Rows of the journal and items of snapshots, as start-up reads them from a disk that lies.
 *
 * The first byte chooses: 0 takes the rest as a row as it is; others put a right head before each
 * piece of it, so that what is behind the checks is met too. */
#include <assert.h>
#include <endian.h>
#include <string.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "store/frame.h"
#include "store/row.h"
#include "store/store.h"

#define FIRST_SEQUENCE 5

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static int on_record(void *userdata, Wafer__Record *record, struct diag *diag)
{
    uint64_t *seen = userdata;
    Wafer__Event event;
    Wafer__Time at;

    assert(record->sequence >= FIRST_SEQUENCE && diag);
    ++*seen;
    if (store_event_of(record, &event, &at))
        assert(wafer__event__get_packed_size(&event) > 0);
    wafer__record__free_unpacked(record, NULL);
    return 0;
}

static int on_unreadable(void *userdata, uint64_t job, uint64_t sequence, const char *why,
                         struct diag *diag)
{
    uint64_t *seen = userdata;

    assert(job && sequence >= FIRST_SEQUENCE && why && diag);
    ++*seen;
    return 0;
}

static const struct row_ops ops = { .record = on_record, .unreadable = on_unreadable };

static void read_row(const uint8_t *bytes, size_t length)
{
    struct row row = { .first_sequence = FIRST_SEQUENCE, .records = bytes, .length = length };
    uint64_t count, seen = 0;
    struct diag diag;

    if (row_read(&row, 0, UINT64_MAX, &ops, &seen, &count, &diag) == 0)
        assert(count == seen);
}

/* Pieces of a length byte, a job byte and a body. */
static void frame_pieces(struct buffer *row, const uint8_t *bytes, size_t length)
{
    while (length >= 2) {
        size_t body = bytes[0] < length - 2 ? bytes[0] : length - 2;
        uint8_t *head = buffer_reserve(row, FRAME_HEAD_BYTES + body);
        uint32_t length32 = htole32((uint32_t)body);
        uint64_t job = htole64(bytes[1]);
        uint64_t body_check = htole64(hash64(bytes + 2, body));
        memcpy(head, &length32, sizeof(length32));
        memcpy(head + 4, &job, sizeof(job));
        uint32_t head_check = htole32((uint32_t)hash64(head, 12));
        memcpy(head + 12, &head_check, sizeof(head_check));
        memcpy(head + 16, &body_check, sizeof(body_check));
        memcpy(head + FRAME_HEAD_BYTES, bytes + 2, body);
        buffer_grow(row, FRAME_HEAD_BYTES + body);
        bytes += 2 + body;
        length -= 2 + body;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct buffer row = BUFFER_EMPTY;

    if (!length)
        return 0;
    if (bytes[0] == 0) {
        read_row(bytes + 1, length - 1);
        return 0;
    }
    frame_pieces(&row, bytes + 1, length - 1);
    read_row(buffer_data(&row), row.length);
    if (bytes[0] == 2 && row.length) { /* and with one bit flipped */
        buffer_data(&row)[bytes[length - 1] % row.length] ^= 1;
        read_row(buffer_data(&row), row.length);
    }
    buffer_done(&row);

    Wafer__SnapshotItem *item = wafer__snapshot_item__unpack(NULL, length - 1, bytes + 1);
    if (item)
        wafer__snapshot_item__free_unpacked(item, NULL);
    return 0;
}
