#include "sim/platforms.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "model/bind.h"
#include "model/limits.h"

static int file_read(const char *path, struct buffer *ret, struct buffer *errors)
{
    owned(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = -1;

    while (fd >= 0 && ret->length <= LIMIT_POLICY_FILE_BYTES) {
        n = read(fd, buffer_reserve(ret, 64 << 10), 64 << 10);
        if (n <= 0)
            break;
        buffer_grow(ret, (size_t)n);
    }
    if (fd >= 0 && n >= 0)
        return 0; /* one that is too long says so when it is parsed */
    int error = -errno;
    buffer_format(errors, "%s: %s\n", path, strerrordesc_np(-error));
    return error;
}

static void range_check(struct bind_errors *errors, const struct bind_places *places,
                        const char *field, const Wafer__PhaseRange *range)
{
    unsigned line, column;

    if (range->min->us <= range->max->us)
        return;
    bind_place(places, field, &line, &column);
    bind_errors_add(errors, line, column, field, "min is more than max");
}

static void positive_check(struct bind_errors *errors, const struct bind_places *places,
                           const char *field, int64_t micro, int64_t max_micro)
{
    unsigned line, column;

    if (micro > 0 && micro <= max_micro)
        return;
    bind_place(places, field, &line, &column);
    bind_errors_add(errors, line, column, field, "must be more than 0 and at most %" PRId64,
                    max_micro / 1000000);
}

static void text_check(struct bind_errors *errors, const struct bind_places *places,
                       const char *field, const char *found, const char *expected)
{
    unsigned line, column;

    if (strcmp(found, expected) == 0)
        return;
    bind_place(places, field, &line, &column);
    bind_errors_add(errors, line, column, field, "'%.80s' should be '%s'", found, expected);
}

/* What the schema cannot say. */
static void platform_check(const Wafer__Platform *platform, const char *name,
                           const struct bind_places *places, struct bind_errors *errors)
{
    const Wafer__PlatformRate *rate = platform->rate;
    const Wafer__PlatformPhases *phases = platform->phases;

    text_check(errors, places, "apiVersion", platform->apiversion, "wafer/v1");
    text_check(errors, places, "kind", platform->kind, "Platform");
    text_check(errors, places, "name", platform->name, name);
    positive_check(errors, places, "rate.peak_pflops", rate->peak_pflops->micro, 1000000000000);
    positive_check(errors, places, "rate.realised_fraction", rate->realised_fraction->micro,
                   1000000);
    positive_check(errors, places, "rate.realised_fraction_small",
                   rate->realised_fraction_small->micro, 1000000);
    positive_check(errors, places, "rate.scaling_efficiency", rate->scaling_efficiency->micro,
                   1000000);
    range_check(errors, places, "phases.compile", phases->compile);
    range_check(errors, places, "phases.compile_cached", phases->compile_cached);
    range_check(errors, places, "phases.start", phases->start);
    range_check(errors, places, "phases.program", phases->program);
}

static int errors_say(const struct bind_errors *errors, const char *path, struct buffer *ret)
{
    for (size_t i = 0; i < errors->count; i++) {
        owned(free) char *line = bind_error_format(&errors->items[i], path);
        buffer_format(ret, "%s\n", line);
    }
    return -EINVAL;
}

int platform_read(const char *directory, const char *name, Wafer__Platform **ret,
                  struct buffer *errors)
{
    owned(free) char *path = text_format("%s/%s.yaml", directory, name);
    owned(buffer_done) struct buffer text = BUFFER_EMPTY;
    struct bind_errors found = { NULL, 0, false };
    struct bind_places *places = NULL;
    ProtobufCMessage *message = NULL;

    int r = file_read(path, &text, errors);
    if (r < 0)
        return r;
    r = bind_yaml(&wafer__platform__descriptor, (char *)buffer_data(&text), text.length,
                  LIMIT_POLICY_FILE_BYTES, &message, &places, &found);
    if (r == 0)
        platform_check((Wafer__Platform *)message, name, places, &found);
    if (r < 0 || found.count > 0)
        r = errors_say(&found, path, errors);
    if (r == 0)
        *ret = (Wafer__Platform *)TAKE(message);
    if (message)
        protobuf_c_message_free_unpacked(message, NULL);
    bind_places_free(places);
    bind_errors_done(&found);
    return r;
}
