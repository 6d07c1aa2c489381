#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "vault/directory.h"
#include "vault/inside.h"

enum { NAME_SIZE = 80, BLOCK_BYTES = 256 << 10, DELETE_TRIES = 100 };

#define MANIFEST_NAME "manifest"
#define PLACE_FORMAT  "%012" PRIu64 ".%" PRIu64 ".%" PRIu64

/* --- names --- */

static void job_format(char name[static NAME_SIZE], uint64_t job)
{
    snprintf(name, NAME_SIZE, "%" PRIu64, job);
}

static void place_format(char name[static NAME_SIZE], const struct vault_place *place)
{
    snprintf(name, NAME_SIZE, PLACE_FORMAT, place->step, place->term, place->epoch);
}

static void shard_format(char name[static NAME_SIZE], uint32_t index)
{
    snprintf(name, NAME_SIZE, "shard-%03" PRIu32, index);
}

/* Only what we would have written ourselves counts: formatting it again must give the same. */
static bool job_parse(const char *name, uint64_t *ret)
{
    char again[NAME_SIZE];

    if (sscanf(name, "%" SCNu64, ret) != 1)
        return false;
    job_format(again, *ret);
    return strcmp(again, name) == 0;
}

static bool place_parse(const char *name, struct vault_place *place)
{
    char again[NAME_SIZE];

    if (sscanf(name, "%" SCNu64 ".%" SCNu64 ".%" SCNu64, &place->step, &place->term,
               &place->epoch) != 3)
        return false;
    place_format(again, place);
    return strcmp(again, name) == 0;
}

/* --- sentences --- */

__attribute__((format(printf, 5, 6))) static int fail(struct diag *diag, int error,
                                                      const struct vault_place *place,
                                                      const char *file, const char *format, ...)
{
    struct diag what = { { 0 } };
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(what.text, sizeof(what.text), format, arguments);
    va_end(arguments);
    return diag_fail(diag, error,
                     "checkpoint of job %" PRIu64 " at step %" PRIu64 " (term %" PRIu64
                     ", epoch %" PRIu64 "): %s: %s",
                     place->job, place->step, place->term, place->epoch, file, what.text);
}

/* --- places --- */

struct opened {
    int job, place; /* directories */
};

#define OPENED_NONE                                                                                \
    {                                                                                              \
        .job = -1, .place = -1                                                                     \
    }

static void opened_donep(struct opened *opened)
{
    fd_closep(&opened->job);
    fd_closep(&opened->place);
}

static int place_open_once(struct vault *vault, const struct vault_place *place, bool make,
                           struct opened *ret)
{
    int (*next)(int, const char *, int *) = make ? directory_make : directory_open;
    owned(opened_done) struct opened opened = OPENED_NONE;
    char name[NAME_SIZE];

    job_format(name, place->job);
    int r = next(vault->checkpoints, name, &opened.job);
    if (r < 0)
        return r;
    place_format(name, place);
    r = next(opened.job, name, &opened.place);
    if (r < 0)
        return r;
    *ret = opened;
    opened = (struct opened)OPENED_NONE;
    return 0;
}

static int place_open(struct vault *vault, const struct vault_place *place, bool make,
                      struct opened *ret, struct diag *diag)
{
    int r = place_open_once(vault, place, make, ret);

    /* Deleting the last checkpoint of a job removes its directory, perhaps just under us. */
    for (int tries = 0; make && r == -ENOENT && tries < 10; tries++)
        r = place_open_once(vault, place, make, ret);
    if (r < 0)
        return fail(diag, r, place, "directory", "%s", vault_reason(r));
    return 0;
}

/* --- reading --- */

/* Open for reading from the disk itself: what the page cache holds proves nothing. */
static int stored_open(const struct opened *opened, const char *name, int *ret_fd,
                       int64_t *ret_bytes)
{
    int r = file_open(opened->place, name, O_RDONLY, ret_fd, ret_bytes);

    if (r == 0)
        posix_fadvise(*ret_fd, 0, 0, POSIX_FADV_DONTNEED);
    return r;
}

/* Into room at the end of `ret`, not yet counted there: the caller may not like what it sees. */
static int stored_read(const struct opened *opened, const struct vault_place *place,
                       const char *name, int64_t bytes_max, struct buffer *ret, size_t *ret_length,
                       struct diag *diag)
{
    owned(fd_close) int fd = -1;
    int64_t bytes;

    int r = stored_open(opened, name, &fd, &bytes);
    if (r < 0)
        return fail(diag, r, place, name, "%s", vault_reason(r));
    if (bytes > bytes_max)
        return fail(diag, -EBADMSG, place, name, "%" PRId64 " bytes; at most %" PRId64 " can be",
                    bytes, bytes_max);
    *ret_length = (size_t)bytes;
    r = file_read_at(fd, 0, buffer_reserve(ret, *ret_length), *ret_length);
    if (r < 0)
        return fail(diag, r == -ENODATA ? -EBADMSG : r, place, name, "%s", vault_reason(r));
    return 0;
}

static int digest_differs(const struct vault_place *place, const char *name,
                          const struct digest *found, const struct digest *expected,
                          struct diag *diag)
{
    char found_hex[DIGEST_HEX_SIZE], expected_hex[DIGEST_HEX_SIZE];

    if (digest_is_equal(found, expected))
        return 0;
    digest_hex(found, found_hex);
    digest_hex(expected, expected_hex);
    return fail(diag, -EBADMSG, place, name, "its bytes have digest %.16s..., not %.16s...",
                found_hex, expected_hex);
}

static int length_differs(const struct vault_place *place, const char *name, int64_t found,
                          int64_t expected, struct diag *diag)
{
    if (found == expected)
        return 0;
    return fail(diag, -EBADMSG, place, name, "%" PRId64 " bytes instead of %" PRId64, found,
                expected);
}

/* --- shards --- */

int vault_shard_write(struct vault *vault, const struct vault_place *place, uint32_t index,
                      const void *bytes, size_t length, struct digest *ret_digest,
                      struct diag *diag)
{
    owned(opened_done) struct opened opened = OPENED_NONE;
    char name[NAME_SIZE];

    assert(index < VAULT_SHARDS_MAX);
    shard_format(name, index);
    if (length > (uint64_t)VAULT_SHARD_BYTES_MAX)
        return fail(diag, -EFBIG, place, name, "%zu bytes; at most %" PRId64 " can be", length,
                    VAULT_SHARD_BYTES_MAX);
    int r = place_open(vault, place, true, &opened, diag);
    if (r < 0)
        return r;
    digest_of(bytes, length, ret_digest);
    r = file_write(opened.place, name, bytes, length, true);
    if (r < 0)
        return fail(diag, r, place, name, "%s", vault_reason(r));
    return 0;
}

int vault_shard_read(struct vault *vault, const struct vault_place *place, uint32_t index,
                     int64_t bytes, const struct digest *digest, struct buffer *ret,
                     struct diag *diag)
{
    owned(opened_done) struct opened opened = OPENED_NONE;
    struct digest found;
    char name[NAME_SIZE];
    size_t length;

    assert(index < VAULT_SHARDS_MAX);
    shard_format(name, index);
    int r = place_open(vault, place, false, &opened, diag);
    if (r < 0)
        return r;
    int64_t bytes_max = digest && bytes < VAULT_SHARD_BYTES_MAX ? bytes : VAULT_SHARD_BYTES_MAX;
    r = stored_read(&opened, place, name, bytes_max, ret, &length, diag);
    if (r < 0)
        return r;
    if (digest) {
        digest_of(buffer_reserve(ret, length), length, &found);
        r = length_differs(place, name, (int64_t)length, bytes, diag);
        if (r == 0)
            r = digest_differs(place, name, &found, digest, diag);
        if (r < 0)
            return r;
    }
    buffer_grow(ret, length);
    return 0;
}

/* --- manifests --- */

/* Whoever wrote it: a manifest that names another place, or shards that cannot be, is refused. */
static int manifest_check(const Wafer__Manifest *manifest, const struct vault_place *place,
                          int error, struct diag *diag)
{
    const Wafer__CheckpointState *checkpoint = manifest->checkpoint;

    if (manifest->format != 1)
        return fail(diag, error, place, MANIFEST_NAME,
                    "format %" PRIu32 "; this version knows format 1", manifest->format);
    if (checkpoint->job != place->job || checkpoint->step != place->step ||
        checkpoint->fence->term != place->term || checkpoint->fence->epoch != place->epoch)
        return fail(
            diag, error, place, MANIFEST_NAME,
            "belongs to job %" PRIu64 ", step %" PRIu64 ", term %" PRIu64 ", epoch %" PRIu64,
            checkpoint->job, checkpoint->step, checkpoint->fence->term, checkpoint->fence->epoch);
    if (checkpoint->n_shards > VAULT_SHARDS_MAX)
        return fail(diag, error, place, MANIFEST_NAME, "%zu shards; at most %d can be",
                    checkpoint->n_shards, VAULT_SHARDS_MAX);
    for (size_t i = 0; i < checkpoint->n_shards; i++)
        if (checkpoint->shards[i]->digest.len != DIGEST_BYTES || checkpoint->shards[i]->bytes < 0 ||
            checkpoint->shards[i]->bytes > VAULT_SHARD_BYTES_MAX)
            return fail(diag, error, place, MANIFEST_NAME,
                        "shard %zu has no length and digest that can be", i);
    return 0;
}

/* There is one already: is it this one? */
static int manifest_compare(const struct opened *opened, const struct vault_place *place,
                            const struct buffer *packed, struct diag *diag)
{
    owned(buffer_done) struct buffer stored = BUFFER_EMPTY;
    size_t length;

    int r =
        stored_read(opened, place, MANIFEST_NAME, VAULT_MANIFEST_BYTES_MAX, &stored, &length, diag);
    if (r < 0)
        return r;
    buffer_grow(&stored, length);
    if (stored.length != packed->length ||
        memcmp(buffer_data(&stored), buffer_data(packed), packed->length) != 0)
        return fail(diag, -EEXIST, place, MANIFEST_NAME, "another one is there already");
    return 0;
}

/* The names on the way down; a file has its name only once its bytes are synced. */
static int names_sync(struct vault *vault, const struct opened *opened)
{
    int r = directory_sync(opened->place);

    if (r == 0)
        r = directory_sync(opened->job);
    return r == 0 ? directory_sync(vault->checkpoints) : r;
}

int vault_manifest_write(struct vault *vault, const struct vault_place *place,
                         const Wafer__Manifest *manifest, struct digest *ret_digest,
                         struct diag *diag)
{
    owned(opened_done) struct opened opened = OPENED_NONE;
    owned(buffer_done) struct buffer packed = BUFFER_EMPTY;

    int r = manifest_check(manifest, place, -EINVAL, diag);
    if (r < 0)
        return r;
    size_t length = wafer__manifest__get_packed_size(manifest);
    if (length > VAULT_MANIFEST_BYTES_MAX)
        return fail(diag, -EINVAL, place, MANIFEST_NAME, "%zu bytes; at most %d can be", length,
                    VAULT_MANIFEST_BYTES_MAX);
    wafer__manifest__pack(manifest, buffer_reserve(&packed, length));
    buffer_grow(&packed, length);

    r = place_open(vault, place, true, &opened, diag);
    if (r < 0)
        return r;
    r = directory_sync(opened.place); /* the names of the shards, before what names them */
    if (r == 0)
        r = file_write(opened.place, MANIFEST_NAME, buffer_data(&packed), length, false);
    if (r == -EEXIST) {
        r = manifest_compare(&opened, place, &packed, diag);
        if (r < 0)
            return r;
    }
    if (r == 0)
        r = names_sync(vault, &opened);
    if (r < 0)
        return fail(diag, r, place, MANIFEST_NAME, "%s", vault_reason(r));
    digest_of(buffer_data(&packed), length, ret_digest);
    return 0;
}

static int manifest_read(const struct opened *opened, const struct vault_place *place,
                         const struct digest *digest, Wafer__Manifest **ret, struct diag *diag)
{
    owned(buffer_done) struct buffer packed = BUFFER_EMPTY;
    struct digest found;
    size_t length;

    int r =
        stored_read(opened, place, MANIFEST_NAME, VAULT_MANIFEST_BYTES_MAX, &packed, &length, diag);
    if (r < 0)
        return r;
    buffer_grow(&packed, length);
    if (digest) {
        digest_of(buffer_data(&packed), packed.length, &found);
        r = digest_differs(place, MANIFEST_NAME, &found, digest, diag);
        if (r < 0)
            return r;
    }
    Wafer__Manifest *manifest = wafer__manifest__unpack(NULL, packed.length, buffer_data(&packed));
    if (!manifest)
        return fail(diag, -EBADMSG, place, MANIFEST_NAME, "its bytes are no manifest");
    r = manifest_check(manifest, place, -EBADMSG, diag);
    if (r < 0) {
        wafer__manifest__free_unpacked(manifest, NULL);
        return r;
    }
    *ret = manifest;
    return 0;
}

int vault_manifest_read(struct vault *vault, const struct vault_place *place,
                        const struct digest *digest, Wafer__Manifest **ret, struct diag *diag)
{
    owned(opened_done) struct opened opened = OPENED_NONE;

    int r = place_open(vault, place, false, &opened, diag);
    return r < 0 ? r : manifest_read(&opened, place, digest, ret, diag);
}

/* --- verification --- */

/* Block by block: a shard may be larger than memory should hold for this. */
static int shard_digest(int fd, int64_t bytes, struct digest *ret)
{
    owned(free) uint8_t *block = memory_resize(NULL, 1, BLOCK_BYTES);
    struct digest_stream stream;

    digest_begin(&stream);
    for (int64_t offset = 0; offset < bytes; offset += BLOCK_BYTES) {
        size_t length = bytes - offset < BLOCK_BYTES ? (size_t)(bytes - offset) : BLOCK_BYTES;
        int r = file_read_at(fd, (uint64_t)offset, block, length);
        if (r < 0)
            return r;
        digest_add(&stream, block, length);
    }
    digest_end(&stream, ret);
    return 0;
}

static int shard_verify(const struct opened *opened, const struct vault_place *place,
                        uint32_t index, const Wafer__ShardState *shard, struct diag *diag)
{
    owned(fd_close) int fd = -1;
    struct digest found, expected;
    char name[NAME_SIZE];
    int64_t bytes;

    shard_format(name, index);
    int r = stored_open(opened, name, &fd, &bytes);
    if (r == -ENOENT)
        return fail(diag, -EBADMSG, place, name, "is missing");
    if (r < 0)
        return fail(diag, r, place, name, "%s", vault_reason(r));
    r = length_differs(place, name, bytes, shard->bytes, diag);
    if (r < 0)
        return r;
    r = shard_digest(fd, bytes, &found);
    if (r < 0)
        return fail(diag, r == -ENODATA ? -EBADMSG : r, place, name, "%s", vault_reason(r));
    memcpy(expected.bytes, shard->digest.data, DIGEST_BYTES);
    return digest_differs(place, name, &found, &expected, diag);
}

int vault_verify(struct vault *vault, const struct vault_place *place, const struct digest *digest,
                 struct diag *diag)
{
    owned(opened_done) struct opened opened = OPENED_NONE;
    Wafer__Manifest *manifest;

    int r = place_open(vault, place, false, &opened, diag);
    if (r < 0)
        return r;
    r = manifest_read(&opened, place, digest, &manifest, diag);
    if (r < 0)
        return r;
    for (size_t i = 0; r == 0 && i < manifest->checkpoint->n_shards; i++)
        r = shard_verify(&opened, place, (uint32_t)i, manifest->checkpoint->shards[i], diag);
    wafer__manifest__free_unpacked(manifest, NULL);
    return r;
}

/* --- deletion --- */

/* Whatever lies there, also what a writer that died left behind. */
static int files_remove(int directory, const struct vault_place *place, struct diag *diag)
{
    owned(closedir) DIR *list = NULL;
    int r = directory_list(directory, &list);

    if (r < 0)
        return fail(diag, r, place, "directory", "%s", vault_reason(r));
    for (struct dirent *entry; (entry = readdir(list));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        r = file_remove(directory, entry->d_name);
        if (r < 0)
            return fail(diag, r, place, entry->d_name, "cannot be removed: %s", vault_reason(r));
    }
    return 0;
}

int vault_delete(struct vault *vault, const struct vault_place *place, struct diag *diag)
{
    owned(opened_done) struct opened opened = OPENED_NONE;
    char name[NAME_SIZE];

    int r = place_open_once(vault, place, false, &opened);
    if (r == -ENOENT)
        return 0;
    if (r < 0)
        return fail(diag, r, place, "directory", "%s", vault_reason(r));

    r = file_remove(opened.place, MANIFEST_NAME);
    if (r == 0)
        r = directory_sync(opened.place);
    if (r < 0)
        return fail(diag, r, place, MANIFEST_NAME, "cannot be removed: %s", vault_reason(r));
    /* A writer that was cut off may put one more file there meanwhile; none once it is gone. */
    place_format(name, place);
    int tries = DELETE_TRIES;
    do {
        r = files_remove(opened.place, place, diag);
        if (r < 0)
            return r;
        r = directory_remove(opened.job, name);
    } while (r == -ENOTEMPTY && --tries > 0);
    if (r == 0)
        r = directory_sync(opened.job);
    if (r < 0)
        return fail(diag, r, place, "directory", "cannot be removed: %s", vault_reason(r));
    job_format(name, place->job);
    r = directory_remove(vault->checkpoints, name);
    if (r < 0 && r != -ENOTEMPTY)
        return fail(diag, r, place, "directory of the job", "cannot be removed: %s",
                    vault_reason(r));
    return 0;
}

/* --- the walk --- */

struct walk {
    int (*each)(void *userdata, const struct vault_place *place);
    void *userdata;
    struct diag *diag;
};

static int walk_failed(struct walk *walk, int error, const char *name)
{
    return diag_fail(walk->diag, error, "vault: cannot list ckpt/%s: %s", name,
                     vault_reason(error));
}

static int job_walk(struct vault *vault, const char *name, struct vault_place *place,
                    struct walk *walk)
{
    owned(fd_close) int job = -1;
    owned(closedir) DIR *list = NULL;

    int r = directory_open(vault->checkpoints, name, &job);
    if (r == -ENOENT) /* its last checkpoint was deleted meanwhile */
        return 0;
    if (r == 0)
        r = directory_list(job, &list);
    if (r < 0)
        return walk_failed(walk, r, name);
    for (struct dirent *entry; r == 0 && (entry = readdir(list));)
        if (place_parse(entry->d_name, place))
            r = walk->each(walk->userdata, place);
    return r;
}

int vault_walk(struct vault *vault, int (*each)(void *userdata, const struct vault_place *place),
               void *userdata, struct diag *diag)
{
    struct walk walk = { each, userdata, diag };
    owned(closedir) DIR *list = NULL;
    struct vault_place place;

    int r = directory_list(vault->checkpoints, &list);
    if (r < 0)
        return walk_failed(&walk, r, "");
    for (struct dirent *entry; r == 0 && (entry = readdir(list));)
        if (job_parse(entry->d_name, &place.job))
            r = job_walk(vault, entry->d_name, &place, &walk);
    return r;
}
