#include "text/fuzz/memory_file.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

const char *memory_file(const uint8_t *data, size_t nbytes)
{
    static int fd = -1;
    static char path[64];
    if (fd >= 0)
        close(fd);
    fd = memfd_create("input", 0);
    if (fd < 0 || write(fd, data, nbytes) != (ssize_t)nbytes)
        return NULL;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return path;
}

static void decode(const struct rml_tokenizer *t, const struct rml_ids *ids, bool skip_special)
{
    struct rml_bytes whole = {0}, streamed = {0};
    struct rml_decode_stream stream;
    if (!rml_tokenizer_decode(t, ids->ids, ids->n, skip_special, &whole, NULL))
        __builtin_trap();
    rml_decode_stream_init(&stream, t, skip_special);
    for (size_t i = 0; i < ids->n; i++)
        if (!rml_decode_stream_step(&stream, ids->ids[i], &streamed, NULL))
            __builtin_trap();
    if (!rml_decode_stream_finish(&stream, &streamed, NULL) || streamed.n != whole.n ||
        (whole.n > 0 && memcmp(streamed.data, whole.data, whole.n) != 0))
        __builtin_trap();
    rml_bytes_release(&whole);
    rml_bytes_release(&streamed);
}

void use_tokenizer(const struct rml_tokenizer *t, const char *text, size_t nbytes)
{
    struct rml_ids ids = {0};
    for (unsigned flags = 0; flags < 4; flags++) {
        ids.n = 0;
        if (!rml_tokenizer_encode(t, text, nbytes, flags, &ids, NULL))
            continue; /* a pattern may give up, a Unigram may have no unknown token */
        for (size_t i = 0; i < ids.n; i++)
            if (ids.ids[i] < 0 || (size_t)ids.ids[i] >= rml_tokenizer_n_vocab(t))
                __builtin_trap();
        decode(t, &ids, flags & 1);
    }
    rml_ids_release(&ids);
}
