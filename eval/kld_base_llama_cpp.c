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

static bool bad(struct kld_base *base, const char *what, struct rml_error *err)
{
    return rmli_fail(err, RML_FORMAT, base->name, 0, "%s", what);
}

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
    if (fread(tokens, sizeof *tokens, base->n_ctx, base->stream) != base->n_ctx)
        return bad(base, "the file ends within its ids", err);
    for (size_t i = 0; i < base->n_ctx; i++)
        if (tokens[i] < 0 || (uint32_t)tokens[i] >= base->n_vocab)
            return bad(base, "an id outside the vocabulary found", err);
    return true;
}

static bool read_chunks(struct kld_base *base, struct rml_error *err)
{
    char magic[8];
    int32_t sizes[3];
    struct stat status;
    if (fread(magic, 1, 8, base->stream) != 8 || memcmp(magic, "_logits_", 8) != 0 ||
        fread(sizes, sizeof sizes[0], 3, base->stream) != 3 || sizes[0] < 3 ||
        sizes[0] > (1 << 24) || sizes[1] < 1 || sizes[1] > MAX_VOCAB || sizes[2] < 1)
        return bad(base,
                   "no file of log-probabilities found, expected \"_logits_\", n_ctx, "
                   "n_vocab and n_chunk",
                   err);
    base->n_ctx = (size_t)sizes[0];
    base->n_vocab = (uint32_t)sizes[1];
    size_t n = (size_t)sizes[2], n_rows = base->n_ctx - base->n_ctx / 2 - 1;
    base->row_nbytes = 2 * (2 * (((size_t)base->n_vocab + 1) / 2) + 4);
    uint64_t rows_begin = 20 + (uint64_t)n * base->n_ctx * 4;
    uint64_t want = rows_begin + (uint64_t)n * n_rows * base->row_nbytes;
    if (fstat(fileno(base->stream), &status) != 0 || (uint64_t)status.st_size != want)
        return rmli_fail(err, RML_FORMAT, base->name, -1,
                         "%lld bytes found, expected %llu for %zu chunks",
                         (long long)status.st_size, (unsigned long long)want, n);
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
