#include "doctor.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/memory.h"
#include "daemon.h"
#include "net/client.h"
#include "store/store.h"
#include "vault/vault.h"

#define SECOND        INT64_C(1000000)
#define CLOCK_SLACK_S 60
#define FREE_WARN     (INT64_C(1) << 30)
#define FREE_FAIL     (INT64_C(64) << 20)
#define FILES_WANTED  4096 /* connections, workers, and what SQLite opens */
#define MISSING_TOLD  5
#define ANSWER_MS     2000

struct doctor {
    const struct doctor_place *place;
    Wafer__Doctor *ret;
    size_t capacity;
    struct vault *vault;
    struct map suspects; /* numbers of checkpoints whose manifest was not there at the first look */
    uint64_t missing;    /* manifests */
};

static const Wafer__Finding__Verdict OK = WAFER__FINDING__VERDICT__OK,
                                     WARN = WAFER__FINDING__VERDICT__WARN,
                                     FAIL = WAFER__FINDING__VERDICT__FAIL;

/* `remedy` NULL: none is needed. */
__attribute__((format(printf, 5, 6))) static void find(struct doctor *doctor, const char *check,
                                                       Wafer__Finding__Verdict verdict,
                                                       const char *remedy, const char *format, ...)
{
    Wafer__Doctor *ret = doctor->ret;
    va_list arguments;

    ARRAY_RESERVE(ret->items, ret->n_items, doctor->capacity);
    Wafer__Finding *finding = ret->items[ret->n_items++] = NEW(Wafer__Finding);
    wafer__finding__init(finding);
    finding->check = text_copy(check);
    finding->verdict = verdict;
    va_start(arguments, format);
    finding->text = text_vformat(format, arguments);
    va_end(arguments);
    finding->remedy = text_copy(remedy);
    ret->healthy &= verdict != FAIL;
}

static int64_t wall_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * SECOND + now.tv_nsec / 1000;
}

static struct doctor doctor_new(const struct doctor_place *place)
{
    struct doctor doctor = { .place = place, .ret = NEW(Wafer__Doctor) };

    wafer__doctor__init(doctor.ret);
    doctor.ret->schema = text_copy("wafer.doctor/v1");
    doctor.ret->generated_at = NEW(Wafer__Time);
    wafer__time__init(doctor.ret->generated_at);
    doctor.ret->generated_at->us = wall_us();
    doctor.ret->healthy = true;
    return doctor;
}

/* ---- directories ---- */

static const char *user_of(uid_t uid)
{
    const struct passwd *entry = getpwuid(uid);

    return entry ? entry->pw_name : "a user without a name";
}

/* What only its owner may look into, and the owner's name. False: it cannot be looked at. */
static bool check_directory(struct doctor *doctor, const char *check, const char *dir)
{
    struct stat st;

    if (stat(dir, &st) < 0) {
        find(doctor, check, FAIL,
             errno == ENOENT ? "start the controller once, or correct the site file"
                             : "look as the controller's user, or as root",
             "%s: %s", dir, strerror(errno));
        return false;
    }
    if (!S_ISDIR(st.st_mode)) {
        find(doctor, check, FAIL, "correct the site file", "%s is no directory", dir);
        return false;
    }
    if (st.st_mode & (S_IRWXG | S_IRWXO))
        find(doctor, check, WARN, "chmod 0700 it", "%s has mode %04o: others may look into it", dir,
             (unsigned)(st.st_mode & 07777));
    else
        find(doctor, check, OK, NULL, "%s is %s's alone (mode %04o)", dir, user_of(st.st_uid),
             (unsigned)(st.st_mode & 07777));
    return true;
}

static void check_room(struct doctor *doctor, const char *check, const char *dir)
{
    struct statvfs fs;

    if (statvfs(dir, &fs) < 0) {
        find(doctor, check, WARN, NULL, "%s: free space is not known: %s", dir, strerror(errno));
        return;
    }
    int64_t bytes = (int64_t)fs.f_bavail * (int64_t)fs.f_frsize;
    Wafer__Finding__Verdict verdict = bytes < FREE_FAIL ? FAIL : bytes < FREE_WARN ? WARN : OK;
    find(doctor, check, verdict, verdict == OK ? NULL : "make room there",
         "%s has %lld MiB free on its file system", dir, (long long)(bytes >> 20));
}

/* ---- state and vault ---- */

static struct vault_place place_of(const Wafer__CheckpointState *checkpoint)
{
    return (struct vault_place){ checkpoint->job, checkpoint->step, checkpoint->fence->term,
                                 checkpoint->fence->epoch };
}

/* Is the manifest of the checkpoint there, and as the journal says? */
static bool has_manifest(const struct doctor *doctor, const Wafer__CheckpointState *checkpoint,
                         struct diag *diag)
{
    struct vault_place place = place_of(checkpoint);
    Wafer__Manifest *manifest;
    struct digest digest;
    bool has_digest = checkpoint->manifest_digest.len == DIGEST_BYTES;

    if (has_digest)
        memcpy(digest.bytes, checkpoint->manifest_digest.data, DIGEST_BYTES);
    if (vault_manifest_read(doctor->vault, &place, has_digest ? &digest : NULL, &manifest, diag) <
        0)
        return false;
    wafer__manifest__free_unpacked(manifest, NULL);
    return true;
}

static void suspect(void *userdata, const Wafer__CheckpointState *checkpoint)
{
    struct doctor *doctor = userdata;
    struct diag diag;

    if (doctor->vault && !has_manifest(doctor, checkpoint, &diag))
        map_put(&doctor->suspects, checkpoint->number, doctor);
}

/* Between the journal and the vault a controller that runs may have deleted it, as it should: what
 * the journal still names at a second look is missing. */
static void look_again(void *userdata, const Wafer__CheckpointState *checkpoint)
{
    struct doctor *doctor = userdata;
    struct diag diag;

    if (!map_get(&doctor->suspects, checkpoint->number) || has_manifest(doctor, checkpoint, &diag))
        return;
    if (doctor->missing++ < MISSING_TOLD)
        find(doctor, "vault", FAIL,
             "'wafer ckpt verify' marks it, and its job goes on from an older one", "%s",
             diag.text);
}

/* An open would make what is not there. */
static void open_vault(struct doctor *doctor)
{
    const char *parts[] = { "ckpt", "logs" };
    struct diag diag;

    if (!check_directory(doctor, "vault", doctor->place->vault_dir))
        return;
    check_room(doctor, "vault", doctor->place->vault_dir);
    for (size_t i = 0; i < ELEMENTS(parts); i++) {
        owned(free) char *part = text_format("%s/%s", doctor->place->vault_dir, parts[i]);
        if (access(part, R_OK | X_OK) < 0) {
            find(doctor, "vault", FAIL, "look as the controller's user, or as root", "%s: %s", part,
                 strerror(errno));
            return;
        }
    }
    if (vault_open(doctor->place->vault_dir, &doctor->vault, &diag) < 0)
        find(doctor, "vault", FAIL, NULL, "%s", diag.text);
}

static void check_version(struct doctor *doctor, const struct store_check *state)
{
    if (state->version > state->version_known || state->version < 1)
        find(doctor, "schema", FAIL, "install the version that wrote it",
             "the state has format %lld; this version reads up to %lld", (long long)state->version,
             (long long)state->version_known);
    else if (state->version < state->version_known)
        find(doctor, "schema", WARN, "the next start of the controller brings it up to date",
             "the state has format %lld; this version writes %lld", (long long)state->version,
             (long long)state->version_known);
    else
        find(doctor, "schema", OK, NULL, "the state has format %lld", (long long)state->version);
}

static void check_clock(struct doctor *doctor, const struct store_check *state)
{
    uint32_t speed = doctor->place->speed ? doctor->place->speed : state->speed;
    int64_t ahead_s = (state->newest_us - wall_us()) / SECOND;

    if (!state->records)
        return;
    if (speed > 1)
        find(doctor, "clock", OK, NULL, "cluster time runs %" PRIu32 " times as fast as this clock",
             speed);
    else if (ahead_s > CLOCK_SLACK_S)
        find(doctor, "clock", WARN, "set the clock of this machine: see timedatectl",
             "this clock is %lld s behind what the journal has seen", (long long)ahead_s);
    else
        find(doctor, "clock", OK, NULL, "this clock is not behind what the journal has seen");
}

static void check_state(struct doctor *doctor, struct store_check *state)
{
    struct diag diag;

    if (!check_directory(doctor, "state", doctor->place->state_dir))
        return;
    check_room(doctor, "state", doctor->place->state_dir);
    int r = store_check(doctor->place->state_dir, suspect, doctor, state, &diag);
    if (r >= 0 && map_count(&doctor->suspects))
        r = store_check(doctor->place->state_dir, look_again, doctor, state, &diag);
    map_done(&doctor->suspects);
    if (r < 0) {
        find(doctor, "journal", FAIL, "put a copy of the whole directory in its place", "%s",
             diag.text);
        return;
    }
    check_version(doctor, state);
    if (state->version < 1 || state->version > state->version_known)
        return;
    if (state->damaged)
        find(
            doctor, "journal", FAIL,
            "what is of one job sets that job aside; else put a copy of the directory in its place",
            "%" PRIu64 " of %" PRIu64 " rows are damaged; the first: %s", state->damaged,
            state->rows, state->first_damage.text);
    else
        find(doctor, "journal", OK, NULL,
             "the chain of %" PRIu64 " records in %" PRIu64 " rows is whole", state->records,
             state->rows);
    if (state->is_copy)
        find(doctor, "journal", OK, NULL,
             "this is a copy that nobody has run yet: its next start gives ids above all that were "
             "given");
    if (doctor->vault && doctor->missing == 0)
        find(doctor, "vault", OK, NULL,
             "all %" PRIu64 " checkpoints have the manifest that the "
             "journal names",
             state->checkpoints);
    else if (doctor->missing > MISSING_TOLD)
        find(doctor, "vault", FAIL, NULL, "and %" PRIu64 " more", doctor->missing - MISSING_TOLD);
    check_clock(doctor, state);
}

static void check_floor(struct doctor *doctor)
{
    struct vault_floor floor;
    struct diag diag;

    if (!doctor->vault)
        return;
    if (vault_floor_read(doctor->vault, &floor, &diag) == 0)
        find(doctor, "floor", OK, NULL, "no id from %" PRIu64 " on was given", floor.next_job);
    else
        find(doctor, "floor", WARN, "start the controller once with room in the vault", "%s",
             diag.text);
}

/* ---- the process ---- */

/* Does a controller answer, and is it what is installed? */
static void check_socket(struct doctor *doctor, const struct store_check *state)
{
    const char *path = doctor->place->socket;
    struct client *client;
    struct diag diag;

    if (client_connect(path, DAEMON_PROGRAM, NULL, ANSWER_MS, &client, &diag) == 0) {
        const char *program = client_peer_program(client);
        bool same = strcmp(program, DAEMON_PROGRAM) == 0;
        find(doctor, "socket", OK, NULL, "%s answers at %s", program, path);
        find(doctor, "version", same ? OK : WARN,
             same ? NULL : "restart it: systemctl restart waferd", "%s is installed, %s runs",
             DAEMON_PROGRAM, program);
        client_free(client);
    } else if (state->holder > 0) {
        find(doctor, "socket", FAIL, "see what the controller says: journalctl -u waferd",
             "process %d has the state, and does not answer: %s", (int)state->holder, diag.text);
    } else {
        find(doctor, "socket", WARN, "start the controller: systemctl start waferd",
             "no controller runs: %s", diag.text);
    }
}

/* Of the controller if it runs, else of whoever would start it from here. */
static void check_limits(struct doctor *doctor, pid_t holder)
{
    struct rlimit limit;
    const char *whose = holder > 0 ? "the controller" : "a controller started from here";

    if (prlimit(holder > 0 ? holder : 0, RLIMIT_NOFILE, NULL, &limit) < 0)
        find(doctor, "limits", WARN, "look as root", "the limits of process %d are not known: %s",
             (int)holder, strerror(errno));
    else if (limit.rlim_cur < FILES_WANTED)
        find(doctor, "limits", WARN, "LimitNOFILE=65536 in its unit, or ulimit -n",
             "%s may have %llu files open: at most that many connections", whose,
             (unsigned long long)limit.rlim_cur);
    else
        find(doctor, "limits", OK, NULL, "%s may have %llu files open", whose,
             (unsigned long long)limit.rlim_cur);
}

Wafer__Doctor *doctor_examine(const struct doctor_place *place)
{
    struct doctor doctor = doctor_new(place);
    struct store_check state = { .holder = 0 };

    open_vault(&doctor);
    check_state(&doctor, &state);
    check_floor(&doctor);
    check_socket(&doctor, &state);
    check_limits(&doctor, state.holder);
    vault_close(doctor.vault);
    return doctor.ret;
}

/* ---- a copy ---- */

struct listing {
    FILE *file;
    uint64_t count;
};

static void list_manifest(void *userdata, const Wafer__CheckpointState *checkpoint)
{
    struct listing *listing = userdata;
    char hex[DIGEST_HEX_SIZE] = "-";
    struct digest digest;

    if (checkpoint->manifest_digest.len == DIGEST_BYTES) {
        memcpy(digest.bytes, checkpoint->manifest_digest.data, DIGEST_BYTES);
        digest_hex(&digest, hex);
    }
    fprintf(listing->file, "ckpt/%" PRIu64 "/%012" PRIu64 ".%" PRIu64 ".%" PRIu64 "/manifest\t%s\n",
            checkpoint->job, checkpoint->step, checkpoint->fence->term, checkpoint->fence->epoch,
            hex);
    listing->count++;
}

/* What the copy needs of the vault, as paths below it. */
static int write_manifests(const char *to, uint64_t *ret_count, struct diag *diag)
{
    owned(free) char *path = text_format("%s/manifests.tsv", to);
    struct listing listing = { .file = fopen(path, "wxe") };
    struct store_check state;

    if (!listing.file)
        return diag_fail(diag, -errno, "%s cannot be created: %s", path, strerror(errno));
    int r = store_check(to, list_manifest, &listing, &state, diag);
    bool written = fflush(listing.file) == 0 && fsync(fileno(listing.file)) == 0;
    int error = errno;
    fclose(listing.file);
    if (r >= 0 && !written)
        r = diag_fail(diag, -error, "%s cannot be written: %s", path, strerror(error));
    *ret_count = listing.count;
    return r;
}

Wafer__Doctor *doctor_backup(const struct doctor_place *place, const char *to)
{
    struct doctor doctor = doctor_new(place);
    struct store_check state;
    struct diag diag;
    uint64_t count = 0;

    umask(077);
    if (store_backup(place->state_dir, to, wall_us(), &state, &diag) < 0) {
        find(&doctor, "backup", FAIL, "take no such copy for one", "%s", diag.text);
        return doctor.ret;
    }
    find(&doctor, "backup", OK, NULL,
         "%s/state.db is the state after record %" PRIu64 "; its chain is whole", to,
         state.last_sequence);
    if (write_manifests(to, &count, &diag) < 0)
        find(&doctor, "backup", FAIL, "make another copy", "%s", diag.text);
    else
        find(&doctor, "backup", OK, NULL,
             "%s/manifests.tsv names the %" PRIu64 " manifests that it needs of the vault", to,
             count);
    return doctor.ret;
}
