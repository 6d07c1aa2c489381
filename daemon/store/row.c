#include "store/row.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>

#include "store/frame.h"

void row_chain(const struct row *row, const struct digest *previous, struct digest *ret)
{
    struct digest_stream stream;
    uint64_t numbers[2] = { htole64(row->first_sequence), htole64(row->count) };

    digest_begin(&stream);
    digest_add(&stream, previous->bytes, sizeof(previous->bytes));
    digest_add(&stream, numbers, sizeof(numbers));
    digest_add(&stream, row->records, row->length);
    digest_end(&stream, ret);
}

void row_put(struct buffer *records, const Wafer__Record *record)
{
    /* The submission of an array is about many jobs: losing it must not be laid to one. */
    frame_put(records, record->array_count > 1 ? 0 : record->job, &record->base);
}

static int read_whole(const struct row *row, const struct frame *frame, uint64_t sequence,
                      const struct row_ops *ops, void *userdata, struct diag *diag)
{
    Wafer__Record *record = wafer__record__unpack(NULL, frame->length, frame->body);

    if (!record)
        return frame->job ? ops->unreadable(userdata, frame->job, sequence, "it is malformed", diag)
                          : diag_fail(diag, -EBADMSG,
                                      "journal row %" PRIu64 ": record %" PRIu64
                                      " is malformed and belongs to no single job",
                                      row->first_sequence, sequence);
    if (record->sequence != sequence) {
        int r =
            diag_fail(diag, -EBADMSG,
                      "journal row %" PRIu64 " holds record %" PRIu64 " where %" PRIu64 " belongs",
                      row->first_sequence, record->sequence, sequence);
        wafer__record__free_unpacked(record, NULL);
        return r;
    }
    return ops->record(userdata, record, diag);
}

static int read_damaged(const struct row *row, const struct frame *frame, uint64_t sequence,
                        const struct row_ops *ops, void *userdata, struct diag *diag)
{
    if (!frame->job)
        return diag_fail(diag, -EBADMSG,
                         "journal row %" PRIu64 ": record %" PRIu64
                         " is damaged and belongs to no single job",
                         row->first_sequence, sequence);
    return ops->unreadable(userdata, frame->job, sequence, "its checksum does not fit", diag);
}

int row_read(const struct row *row, uint64_t from, uint64_t to, const struct row_ops *ops,
             void *userdata, uint64_t *ret_count, struct diag *diag)
{
    struct frame_walk walk = { .bytes = row->records, .length = row->length };
    struct frame frame;
    enum frame_state state;
    uint64_t sequence = row->first_sequence;

    for (; (state = frame_walk_next(&walk, &frame)) != FRAME_END; sequence++) {
        int r = 0;
        if (state == FRAME_LOST)
            return diag_fail(diag, -EBADMSG,
                             "journal row %" PRIu64 " is damaged from record %" PRIu64
                             " on: whose records these were is not known",
                             row->first_sequence, sequence);
        if (sequence < from || sequence >= to)
            continue;
        if (state == FRAME_BODY_DAMAGED)
            r = read_damaged(row, &frame, sequence, ops, userdata, diag);
        else
            r = read_whole(row, &frame, sequence, ops, userdata, diag);
        if (r < 0)
            return r;
    }
    *ret_count = sequence - row->first_sequence;
    return 0;
}
