/* waferd-doctor — what `wafer doctor` runs: it needs the state's libraries, which wafer does not.
 *
 * It writes one packed Doctor message to standard output, and to standard error what it could not
 * begin with. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "doctor.h"
#include "settings.h"

static int usage(void)
{
    fputs("usage: waferd-doctor {--config FILE | --dev DIR} [--backup DIR]\n", stderr);
    return EX_USAGE;
}

static int write_out(Wafer__Doctor *doctor)
{
    size_t length = wafer__doctor__get_packed_size(doctor);
    owned(free) uint8_t *packed = memory_new(length + 1);

    wafer__doctor__pack(doctor, packed);
    bool written = fwrite(packed, 1, length, stdout) == length && fflush(stdout) == 0;
    wafer__doctor__free_unpacked(doctor, NULL);
    return written ? EX_OK : EX_IOERR;
}

static int run(const struct doctor_place *place, const char *backup)
{
    return write_out(backup ? doctor_backup(place, backup) : doctor_examine(place));
}

static int run_site(const char *path, const char *backup)
{
    owned(buffer_done) struct buffer errors = BUFFER_EMPTY;
    owned(settings_free) struct settings *settings = NULL;

    if (settings_read(path, &settings, &errors) < 0) {
        fprintf(stderr, "%.*s", (int)errors.length, buffer_data(&errors));
        return EX_CONFIG;
    }
    struct doctor_place place = { settings->state_dir, settings->vault_dir, settings->socket,
                                  settings->speed };
    return run(&place, backup);
}

static int run_dev(const char *dir, const char *backup)
{
    owned(free) char *vault = text_format("%s/vault", dir);
    owned(free) char *socket = text_format("%s/waferd.sock", dir);
    struct doctor_place place = { dir, vault, socket, 0 };

    return run(&place, backup);
}

int main(int argc, char **argv)
{
    const char *config = NULL, *dev = NULL, *backup = NULL;

    for (int i = 1; i < argc; i += 2) {
        const char **value = strcmp(argv[i], "--config") == 0   ? &config
                             : strcmp(argv[i], "--dev") == 0    ? &dev
                             : strcmp(argv[i], "--backup") == 0 ? &backup
                                                                : NULL;
        if (!value || i + 1 == argc)
            return usage();
        *value = argv[i + 1];
    }
    if (config && dev)
        return usage();
    return dev ? run_dev(dev, backup)
               : run_site(config ? config : SYSCONFDIR "/waferd/waferd.yaml", backup);
}
