/* The state hash: a sum over objects, so that a change costs one object. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/state.h"

static void hash_of(const ProtobufCMessage *message, struct hash *ret)
{
    uint8_t small[1024];
    size_t length = protobuf_c_message_get_packed_size(message);
    uint8_t *packed = length <= sizeof(small) ? small : memory_resize(NULL, length, 1);
    /* The type's name goes in first: equal bytes of two types are two objects. */
    const char *name = message->descriptor->short_name;
    struct digest_stream stream;
    struct digest digest;

    protobuf_c_message_pack(message, packed);
    digest_begin(&stream);
    digest_add(&stream, name, strlen(name) + 1);
    digest_add(&stream, packed, length);
    digest_end(&stream, &digest);
    memcpy(ret->words, digest.bytes, sizeof(ret->words));
    for (int i = 0; i < 4; i++)
        ret->words[i] = le64toh(ret->words[i]);
    if (packed != small)
        free(packed);
}

void hash_replace(struct core *core, struct hash *slot, const ProtobufCMessage *now)
{
    struct hash hash = { { 0 } };

    if (now)
        hash_of(now, &hash);
    for (int i = 0; i < 4; i++)
        core->hash.words[i] += hash.words[i] - slot->words[i];
    *slot = hash;
}

void core_hash(const struct core *core, uint8_t ret[static 32])
{
    struct digest_stream stream;
    struct digest digest;
    uint64_t words[] = { core->hash.words[0], core->hash.words[1],   core->hash.words[2],
                         core->hash.words[3], core->sequence,        core->term,
                         core->next_job,      core->next_checkpoint, core->next_system };

    for (size_t i = 0; i < ELEMENTS(words); i++)
        words[i] = htole64(words[i]);
    digest_begin(&stream);
    digest_add(&stream, words, sizeof(words));
    digest_end(&stream, &digest);
    memcpy(ret, digest.bytes, DIGEST_BYTES);
}
