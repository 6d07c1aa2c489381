#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "place.h"

static const struct vault_place place = { .job = 7, .step = 1000, .term = 1, .epoch = 3 };
static struct digest manifest_digest;

static void commit(void)
{
    ck_assert_int_eq(checkpoint_write(vault, &place, &manifest_digest), 0);
}

static void flip(const char *file, off_t offset)
{
    owned(free) char *path = place_path(&place, file);
    uint8_t byte;
    int fd = open(path, O_RDWR);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pread(fd, &byte, 1, offset), 1);
    byte ^= 0x40;
    ck_assert_int_eq(pwrite(fd, &byte, 1, offset), 1);
    close(fd);
}

static void resize(const char *file, off_t bytes)
{
    owned(free) char *path = place_path(&place, file);

    ck_assert_int_eq(truncate(path, bytes), 0);
}

static void replace_by_link(const char *file)
{
    owned(free) char *path = place_path(&place, file);
    owned(free) char *elsewhere = text_format("%s/elsewhere", scratch);

    ck_assert_int_eq(rename(path, elsewhere), 0); /* the very same bytes, but outside */
    ck_assert_int_eq(symlink(elsewhere, path), 0);
}

static void replace_by_fifo(const char *file)
{
    owned(free) char *path = place_path(&place, file);

    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
}

static void unlink_one(const char *file)
{
    owned(free) char *path = place_path(&place, file);

    ck_assert_int_eq(unlink(path), 0);
}

START_TEST(what_was_written_verifies_and_reads_back)
{
    owned(buffer_done) struct buffer read = BUFFER_EMPTY;
    uint8_t expected[SHARD_BYTES];
    Wafer__Manifest *manifest;
    struct digest digest;

    commit();
    ck_assert_int_eq(vault_verify(vault, &place, &manifest_digest, &diag), 0);
    ck_assert_int_eq(vault_manifest_read(vault, &place, &manifest_digest, &manifest, &diag), 0);
    ck_assert_uint_eq(manifest->checkpoint->n_shards, SHARDS);
    for (uint32_t i = 0; i < SHARDS; i++) {
        memcpy(digest.bytes, manifest->checkpoint->shards[i]->digest.data, DIGEST_BYTES);
        buffer_clear(&read);
        ck_assert_int_eq(vault_shard_read(vault, &place, i, SHARD_BYTES, &digest, &read, &diag), 0);
        shard_fill(expected, &place, i);
        ck_assert_mem_eq(buffer_data(&read), expected, SHARD_BYTES);
        ck_assert_int_eq(vault_shard_read(vault, &place, i, SHARD_BYTES - 1, &digest, &read, &diag),
                         -EBADMSG);
        digest.bytes[0] ^= 1;
        ck_assert_int_eq(vault_shard_read(vault, &place, i, SHARD_BYTES, &digest, &read, &diag),
                         -EBADMSG);
        ck_assert_uint_eq(read.length, SHARD_BYTES); /* a refused shard adds nothing */
    }
    wafer__manifest__free_unpacked(manifest, NULL);
}
END_TEST

static const struct damage {
    const char *file;
    void (*do_it)(const char *file);
    void (*set)(const char *file, off_t number);
    off_t number;
    int error;
} damages[] = {
    { "shard-000", .set = flip, .number = 0, .error = -EBADMSG },
    { "shard-001", .set = flip, .number = SHARD_BYTES / 2, .error = -EBADMSG },
    { "shard-002", .set = flip, .number = SHARD_BYTES - 1, .error = -EBADMSG },
    { "manifest", .set = flip, .number = 1, .error = -EBADMSG },
    { "manifest", .set = flip, .number = 60, .error = -EBADMSG },
    { "shard-001", .set = resize, .number = SHARD_BYTES - 1, .error = -EBADMSG },
    { "shard-001", .set = resize, .number = 0, .error = -EBADMSG },
    { "shard-001", .set = resize, .number = SHARD_BYTES + 1, .error = -EBADMSG },
    { "manifest", .set = resize, .number = 10, .error = -EBADMSG },
    { "manifest", .set = resize, .number = VAULT_MANIFEST_BYTES_MAX + 1, .error = -EBADMSG },
    { "shard-002", .do_it = unlink_one, .error = -EBADMSG },
    { "shard-002", .do_it = replace_by_link, .error = -EBADMSG },
    { "shard-002", .do_it = replace_by_fifo, .error = -EBADMSG },
    { "manifest", .do_it = unlink_one, .error = -ENOENT },
    { "manifest", .do_it = replace_by_link, .error = -EBADMSG },
};

START_TEST(damage_is_found_and_the_file_named)
{
    const struct damage *damage = &damages[_i];

    commit();
    if (damage->set)
        damage->set(damage->file, damage->number);
    else
        damage->do_it(damage->file);
    ck_assert_int_eq(vault_verify(vault, &place, &manifest_digest, &diag), damage->error);
    ck_assert_msg(strstr(diag.text, damage->file), "names no %s: %s", damage->file, diag.text);
    ck_assert_ptr_nonnull(strstr(diag.text, "job 7 at step 1000"));
}
END_TEST

/* One more than the highest descriptor, when so many more may be opened. */
static rlim_t limit_for(unsigned spare)
{
    int limit = 0;

    for (; spare > 0; limit++)
        spare -= fcntl(limit, F_GETFD) < 0;
    return (rlim_t)limit;
}

/* Directory of the job, of the checkpoint, then manifest and shards: which cannot be opened? */
START_TEST(what_cannot_be_read_for_now_is_not_called_damaged)
{
    struct rlimit before, few;

    commit();
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    for (unsigned spare = 0; spare <= 3; spare++) {
        few = (struct rlimit){ limit_for(spare), before.rlim_max };
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
        int r = vault_verify(vault, &place, &manifest_digest, &diag);
        int expected = spare < 3 ? -EMFILE : 0;
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
        ck_assert_int_eq(r, expected);
    }
}
END_TEST

START_TEST(a_checkpoint_that_lies_in_another_place_is_refused)
{
    const struct vault_place wrong = { .job = 7, .step = 2000, .term = 1, .epoch = 3 };
    owned(free) char *from = place_path(&place, "");
    owned(free) char *to = place_path(&wrong, "");

    commit();
    ck_assert_int_eq(rename(from, to), 0);
    ck_assert_int_eq(vault_verify(vault, &wrong, NULL, &diag), -EBADMSG);
    ck_assert_ptr_nonnull(strstr(diag.text, "belongs to job 7, step 1000"));
}
END_TEST

START_TEST(a_directory_that_is_a_link_is_not_entered)
{
    owned(free) char *job = text_format("%s/vault/ckpt/7", scratch);
    owned(free) char *outside = text_format("%s/outside", scratch);
    owned(free) char *written = text_format("%s/000000001000.1.3", outside);

    ck_assert_int_eq(mkdir(outside, 0700), 0);
    ck_assert_int_eq(symlink(outside, job), 0);
    ck_assert_int_eq(checkpoint_write(vault, &place, &manifest_digest), -EBADMSG);
    ck_assert_int_eq(access(written, F_OK), -1);
    ck_assert_int_eq(vault_verify(vault, &place, NULL, &diag), -EBADMSG);
    ck_assert_int_eq(vault_delete(vault, &place, &diag), -EBADMSG);
}
END_TEST

START_TEST(a_link_in_place_of_a_shard_is_replaced_and_not_written_through)
{
    owned(free) char *path = place_path(&place, "shard-000");
    owned(free) char *victim = text_format("%s/victim", scratch);
    struct stat status;

    commit();
    ck_assert_int_eq(close(open(victim, O_CREAT | O_WRONLY, 0600)), 0);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(symlink(victim, path), 0);
    commit();
    ck_assert_int_eq(stat(victim, &status), 0);
    ck_assert_int_eq(status.st_size, 0);
    ck_assert_int_eq(vault_verify(vault, &place, &manifest_digest, &diag), 0);
}
END_TEST

START_TEST(the_same_manifest_may_be_written_again_and_another_may_not)
{
    Wafer__Manifest *manifest;
    struct digest digest;

    commit();
    struct digest first = manifest_digest;
    commit();
    ck_assert(digest_is_equal(&first, &manifest_digest));

    ck_assert_int_eq(vault_manifest_read(vault, &place, NULL, &manifest, &diag), 0);
    manifest->checkpoint->attempt++;
    ck_assert_int_eq(vault_manifest_write(vault, &place, manifest, &digest, &diag), -EEXIST);
    manifest->checkpoint->step++;
    ck_assert_int_eq(vault_manifest_write(vault, &place, manifest, &digest, &diag), -EINVAL);
    manifest->checkpoint->step--;
    manifest->checkpoint->shards[1]->digest.len--;
    ck_assert_int_eq(vault_manifest_write(vault, &place, manifest, &digest, &diag), -EINVAL);
    wafer__manifest__free_unpacked(manifest, NULL);
    ck_assert_int_eq(vault_verify(vault, &place, &first, &diag), 0);
}
END_TEST

static int count_one(void *userdata, const struct vault_place *found)
{
    ck_assert_mem_eq(found, &place, sizeof(place));
    ++*(int *)userdata;
    return 0;
}

static int delete_one(void *userdata, const struct vault_place *found)
{
    return vault_delete(userdata, found, &diag);
}

START_TEST(deleting_leaves_nothing_and_may_be_repeated)
{
    owned(free) char *job = text_format("%s/vault/ckpt/7", scratch);
    owned(free) char *left_behind = place_path(&place, "shard-000.0123456789abcdef.tmp");
    int count = 0;

    ck_assert_int_eq(vault_delete(vault, &place, &diag), 0);
    commit();
    ck_assert_int_eq(close(open(left_behind, O_CREAT | O_WRONLY, 0600)), 0);
    ck_assert_int_eq(vault_walk(vault, count_one, &count, &diag), 0);
    ck_assert_int_eq(count, 1);
    ck_assert_int_eq(vault_delete(vault, &place, &diag), 0);
    ck_assert_int_eq(access(job, F_OK), -1);
    ck_assert_int_eq(vault_verify(vault, &place, NULL, &diag), -ENOENT);
    ck_assert_int_eq(vault_delete(vault, &place, &diag), 0);
    ck_assert_int_eq(vault_walk(vault, count_one, &count, &diag), 0);
    ck_assert_int_eq(count, 1);
}
END_TEST

START_TEST(a_deletion_that_stopped_after_the_manifest_can_be_finished)
{
    commit();
    unlink_one("manifest");
    unlink_one("shard-001");
    ck_assert_int_eq(vault_delete(vault, &place, &diag), 0);
    int count = 0;
    ck_assert_int_eq(vault_walk(vault, count_one, &count, &diag), 0);
    ck_assert_int_eq(count, 0);
}
END_TEST

START_TEST(the_walk_passes_by_what_is_none_of_ours_and_may_delete)
{
    static const char *const strangers[] = { "lost+found", "07", "7x", "18446744073709551616" };
    static const char *const inside[] = { "1000.1.3", "000000001000.1", "000000001000.1.3.bak" };
    int count = 0;

    commit();
    for (size_t i = 0; i < ELEMENTS(strangers); i++) {
        owned(free) char *path = text_format("%s/vault/ckpt/%s", scratch, strangers[i]);
        ck_assert_int_eq(mkdir(path, 0700), 0);
    }
    for (size_t i = 0; i < ELEMENTS(inside); i++) {
        owned(free) char *path = text_format("%s/vault/ckpt/7/%s", scratch, inside[i]);
        ck_assert_int_eq(mkdir(path, 0700), 0);
    }
    ck_assert_int_eq(vault_walk(vault, count_one, &count, &diag), 0);
    ck_assert_int_eq(count, 1);
    ck_assert_int_eq(vault_walk(vault, delete_one, vault, &diag), 0);
    ck_assert_int_eq(vault_walk(vault, count_one, &count, &diag), 0);
    ck_assert_int_eq(count, 1);
}
END_TEST

START_TEST(no_room_for_a_shard_says_so_and_leaves_the_old_one)
{
    const struct rlimit small = { SHARD_BYTES / 2, RLIM_INFINITY };
    struct digest digest;
    uint8_t bytes[SHARD_BYTES] = { 0 };

    commit();
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0); /* of this test's own process */
    ck_assert_int_eq(vault_shard_write(vault, &place, 0, bytes, SHARD_BYTES, &digest, &diag),
                     -ENOSPC);
    ck_assert_ptr_nonnull(strstr(diag.text, "no space left"));
    ck_assert_int_eq(vault_verify(vault, &place, &manifest_digest, &diag), 0);
}
END_TEST

START_TEST(files_are_for_their_owner_alone)
{
    owned(free) char *shard = place_path(&place, "shard-000");
    owned(free) char *directory = place_path(&place, "");
    struct stat status;

    commit();
    ck_assert_int_eq(stat(shard, &status), 0);
    ck_assert_uint_eq(status.st_mode & 0777, 0600);
    ck_assert_int_eq(stat(directory, &status), 0);
    ck_assert_uint_eq(status.st_mode & 0777, 0700);
}
END_TEST

START_TEST(a_vault_needs_a_directory)
{
    owned(free) char *file = text_format("%s/file", scratch);
    owned(free) char *no_parent = text_format("%s/no/vault", scratch);
    struct vault *other;

    ck_assert_int_eq(close(open(file, O_CREAT | O_WRONLY, 0600)), 0);
    ck_assert_int_eq(vault_open(file, &other, &diag), -ENOTDIR);
    ck_assert_int_eq(vault_open(no_parent, &other, &diag), -ENOENT);
    ck_assert_ptr_nonnull(strstr(diag.text, no_parent));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("checkpoint");
    TCase *tcase = tcase_create("checkpoint");

    tcase_add_checked_fixture(tcase, vault_make, vault_remove);
    tcase_add_test(tcase, what_was_written_verifies_and_reads_back);
    tcase_add_loop_test(tcase, damage_is_found_and_the_file_named, 0, ELEMENTS(damages));
    tcase_add_test(tcase, what_cannot_be_read_for_now_is_not_called_damaged);
    tcase_add_test(tcase, a_checkpoint_that_lies_in_another_place_is_refused);
    tcase_add_test(tcase, a_directory_that_is_a_link_is_not_entered);
    tcase_add_test(tcase, a_link_in_place_of_a_shard_is_replaced_and_not_written_through);
    tcase_add_test(tcase, the_same_manifest_may_be_written_again_and_another_may_not);
    tcase_add_test(tcase, deleting_leaves_nothing_and_may_be_repeated);
    tcase_add_test(tcase, a_deletion_that_stopped_after_the_manifest_can_be_finished);
    tcase_add_test(tcase, the_walk_passes_by_what_is_none_of_ours_and_may_delete);
    tcase_add_test(tcase, no_room_for_a_shard_says_so_and_leaves_the_old_one);
    tcase_add_test(tcase, files_are_for_their_owner_alone);
    tcase_add_test(tcase, a_vault_needs_a_directory);
    suite_add_tcase(suite, tcase);
    return tap_run(suite);
}
