#include "engine/compile.h"

#include <string.h>
#include <strings.h>

#include "base/buffer.h"
#include "base/digest.h"

#define CACHE_PROGRAMS_MAX 4096

static bool is_listed(char *const *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(list[i], name) == 0)
            return true;
    return count == 0; /* a platform without a list accepts everything */
}

Wafer__Cause compile_check(const Wafer__JobSpec *spec, const struct workload *workload,
                           const Wafer__Platform *platform, uint32_t systems, struct diag *diag)
{
    const char *precision = precision_name(workload_precision(workload, platform));

    if (workload->batch < systems) {
        diag_fail(diag, 0, "workload.batch: %u sequences for %u systems; at least one for each",
                  workload->batch, systems);
        return WAFER__CAUSE__CONFIG;
    }
    if (!is_listed(platform->precisions, platform->n_precisions, precision)) {
        diag_fail(diag, 0, "workload.precision: %s does not run on %s", precision, platform->name);
        return WAFER__CAUSE__CONFIG;
    }
    for (size_t i = 0; i < spec->workload->n_operators; i++)
        if (!is_listed(platform->operators, platform->n_operators, spec->workload->operators[i])) {
            diag_fail(diag, 0, "operator '%.100s' is not supported on %s",
                      spec->workload->operators[i], platform->name);
            return WAFER__CAUSE__UNSUPPORTED_OPERATOR;
        }
    return WAFER__CAUSE__NO_CAUSE;
}

uint64_t compile_key(const Wafer__JobSpec *spec, const struct workload *workload,
                     const Wafer__Platform *platform, uint32_t systems)
{
    const Wafer__Workload *words = spec->workload;
    struct buffer buffer = BUFFER_EMPTY;

    buffer_format(&buffer, "%s\n%u\n%s\n%llu %u %u %u %u %u\n%d %d\n%s\n", platform->name, systems,
                  words->model->family ? words->model->family : "",
                  (unsigned long long)workload->parameters, workload->layers, workload->hidden,
                  workload->vocab, workload->seq, workload->batch, workload->precision,
                  workload->recompute, words->optimizer ? words->optimizer : "adamw");
    for (size_t i = 0; i < words->n_operators; i++) {
        buffer_append_text(&buffer, words->operators[i]);
        buffer_append_text(&buffer, "\n");
    }
    uint64_t key = hash64(buffer_data(&buffer), buffer.length) >> 1; /* not a reserved key */
    buffer_done(&buffer);
    return key;
}

void compile_cache_done(struct compile_cache *cache)
{
    map_done(&cache->programs);
}

bool compile_cache_has(const struct compile_cache *cache, uint64_t key)
{
    return map_get(&cache->programs, key) != NULL;
}

void compile_cache_put(struct compile_cache *cache, uint64_t key)
{
    /* Emptied when full: which programs come back is what is compiled anew, once each. */
    if (map_count(&cache->programs) >= CACHE_PROGRAMS_MAX)
        map_done(&cache->programs);
    map_put(&cache->programs, key, cache);
}
