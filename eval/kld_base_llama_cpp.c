/*
 * llama.cpp's file of log-probabilities, as its perplexity tool writes it with
 * --save-all-logits (formerly --kl-divergence-base):
 *
 *     8 bytes "_logits_", i32 n_ctx, i32 n_vocab, i32 n_chunk, i32 tokens[n_chunk][n_ctx], and
 *     for each chunk and each of its n_ctx - n_ctx / 2 - 1 scored tokens a row of
 *     2 * ceil(n_vocab / 2) + 4 u16: f32 scale, f32 min_log_prob, codes[n_vocab]
 *
 * It carries no hashes: the size of the vocabulary is all that can be compared. Its ids have no
 * BOS at the beginning of chunks; the one of the candidate's tokenizer is put there by the caller.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "eval/kld_base.h"
#include "eval/request_key.h"

#define MAX_VOCAB (1 << 24)
#define HEADER_NBYTES 20

static bool read_chunk(struct kld_base *base, size_t chunk, struct rml_error *err)
{
    int32_t *tokens = malloc(base->n_ctx * sizeof *tokens);
    base->requests[chunk] = (struct eval_request){.tokens = tokens,
                                                  .n_tokens = base->n_ctx,
                                                  .first_target = base->n_ctx / 2 + 1,
                                                  .doc_id = base->name,
                                                  .choice_idx = (int64_t)chunk};
    if (!tokens)
        return rmli_fail(err, RML_NO_MEMORY, base->name, -1, "no memory for its chunks");
    int64_t offset = HEADER_NBYTES + 4 * (int64_t)(chunk * base->n_ctx);
    if (fread(tokens, sizeof *tokens, base->n_ctx, base->stream) != base->n_ctx)
        return rmli_fail(err, RML_IO, base->name, offset, "cannot be read: %s", strerror(errno));
    for (size_t i = 0; i < base->n_ctx; i++)
        if (tokens[i] < 0 || (uint32_t)tokens[i] >= base->n_vocab)
            return rmli_fail(err, RML_FORMAT, base->name, offset + 4 * (int64_t)i,
                             "id %d found in chunk %zu, place %zu, expected one of 0 to %u",
                             tokens[i], chunk, i, base->n_vocab - 1);
    return true;
}

static bool read_header(struct kld_base *base, int32_t sizes[3], struct rml_error *err)
{
    static const struct {
        const char *name;
        int32_t least, most;
    } fields[] = {{"n_ctx", 3, 1 << 24}, {"n_vocab", 1, MAX_VOCAB}, {"n_chunk", 1, INT32_MAX}};
    char magic[8];
    if (fread(magic, 1, sizeof magic, base->stream) != sizeof magic ||
        memcmp(magic, "_logits_", sizeof magic) != 0)
        return rmli_fail(err, RML_FORMAT, base->name, 0,
                         "no file of log-probabilities found, expected \"_logits_\"");
    for (size_t i = 0; i < 3; i++) {
        int64_t offset = (int64_t)(sizeof magic + 4 * i);
        if (fread(&sizes[i], sizeof sizes[i], 1, base->stream) != 1)
            return rmli_fail(err, RML_FORMAT, base->name, offset,
                             "the file ends where %s is expected", fields[i].name);
        if (sizes[i] < fields[i].least || sizes[i] > fields[i].most)
            return rmli_fail(err, RML_FORMAT, base->name, offset,
                             "%s is %d, expected a number from %d to %d", fields[i].name, sizes[i],
                             fields[i].least, fields[i].most);
    }
    return true;
}

/* Is the file as long as its header says? */
static bool check_size(const struct kld_base *base, uint64_t n_chunks, uint64_t chunk_nbytes,
                       struct rml_error *err)
{
    struct stat status;
    if (fstat(fileno(base->stream), &status) != 0)
        return rmli_fail(err, RML_IO, base->name, -1, "cannot be read: %s", strerror(errno));
    uint64_t nbytes = (uint64_t)status.st_size - HEADER_NBYTES;
    return (nbytes % chunk_nbytes == 0 && nbytes / chunk_nbytes == n_chunks) ||
           rmli_fail(err, RML_FORMAT, base->name, (int64_t)status.st_size,
                     "the file ends here, expected %d bytes and %llu chunks of %llu", HEADER_NBYTES,
                     (unsigned long long)n_chunks, (unsigned long long)chunk_nbytes);
}

static bool read_chunks(struct kld_base *base, struct rml_error *err)
{
    int32_t sizes[3] = {0};
    if (!read_header(base, sizes, err))
        return false;
    base->n_ctx = (size_t)sizes[0];
    base->n_vocab = (uint32_t)sizes[1];
    size_t n = (size_t)sizes[2], n_rows = base->n_ctx - base->n_ctx / 2 - 1;
    base->row_nbytes = 2 * (2 * (((size_t)base->n_vocab + 1) / 2) + 4);
    if (!check_size(base, n, 4 * base->n_ctx + n_rows * base->row_nbytes, err))
        return false;
    uint64_t rows_begin = HEADER_NBYTES + 4 * (uint64_t)n * base->n_ctx;
    base->requests = calloc(n, sizeof *base->requests);
    base->offsets = calloc(n, sizeof *base->offsets);
    if (!base->requests || !base->offsets)
        return rmli_fail(err, RML_NO_MEMORY, base->name, -1, "no memory for its chunks");
    for (base->n_windows = 0; base->n_windows < n;) {
        size_t chunk = base->n_windows++;
        base->offsets[chunk] = (int64_t)(rows_begin + (uint64_t)chunk * n_rows * base->row_nbytes);
        if (!read_chunk(base, chunk, err))
            return false;
    }
    return true;
}

bool kld_base_open_llama_cpp(struct kld_base *base, const char *name, struct rml_error *err)
{
    *base = (struct kld_base){.name = name, .is_coded = true, .protocol = "llama.cpp"};
    char sha256[65];
    base->stream = fopen(name, "rb");
    bool ok =
        base->stream || rmli_fail(err, RML_IO, name, -1, "cannot be opened: %s", strerror(errno));
    ok = ok && read_chunks(base, err) && eval_sha256_of_file(name, sha256, err) &&
         kld_base_make_room(base, err);
    if (ok)
        snprintf(base->identity, sizeof base->identity, "llama.cpp file %s", sha256);
    else
        kld_base_release(base);
    return ok;
}
