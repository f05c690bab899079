/*
 * A checkpoint written anew as one GGUF file, its matrices in a type of choice.
 *
 *     struct rml_conversion_options options = {.dtype = RML_Q4_K};
 *     struct rml_conversion *c = rml_conversion_plan(cp, &options, &err);
 *     rml_conversion_write(c, "out.gguf", pool, NULL, NULL, &err);
 *     rml_conversion_destroy(c);
 *
 * Which tensors get the type (llama.cpp's rule for a single type, its "pure"): those of two or
 * more dimensions whose name ends in "weight", token embedding and output matrix included, but for
 * norms ("_norm.weight") and the routers of experts ("ffn_gate_inp.weight"). All others stay as
 * they are in a GGUF, and become F32 from a folder. A matrix whose rows are no multiple of the
 * type's block gets the type that llama.cpp falls back to: Q4_0 for Q2_K and Q3_K, Q5_0 for Q4_K,
 * Q5_1 for Q5_K, Q8_0 for Q6_K, IQ4_NL for IQ4_XS, and F16 when even blocks of 32 do not fit.
 *
 * From a GGUF (one file or split) the metadata is carried over byte for byte, but for
 * general.file_type, general.quantization_version and split.*. From a Hugging Face folder the file
 * is laid out as llama.cpp's converter does it.
 *
 * Thread rule: a conversion belongs to one thread at a time; the pool's threads work inside
 * rml_conversion_write.
 */
#ifndef RML_CONVERT_CONVERSION_H
#define RML_CONVERT_CONVERSION_H

#include "base/thread_pool.h"
#include "files/checkpoint.h"

struct rml_conversion;

struct rml_conversion_options {
    enum rml_dtype dtype; /* of the matrices; one of weights */
    const char *pre;      /* tokenizer.ggml.pre, borrowed as long as the conversion lives; NULL: the
                             GGUF's, or by a folder's pipeline */
};

enum rml_conversion_choice {
    RML_CONVERT_CHOSEN,   /* has the type that was asked for */
    RML_CONVERT_FALLBACK, /* rows do not fit its blocks */
    RML_CONVERT_KEPT      /* a vector, norm or router */
};

struct rml_conversion_tensor {
    const char *name; /* in the output; borrowed, as the whole is, from the conversion */
    int n_dims;
    uint64_t dims[RML_MAX_DIMS]; /* outermost first */
    enum rml_dtype from, to;     /* `from` is F32 for computed ones */
    enum rml_conversion_choice choice;
    uint64_t nelems;
    uint64_t nbytes_before, nbytes_after;
    /* Once written: sums of x^2 and of (what the output holds - x)^2. */
    double sum_squares, squared_error;
};

/* Reads headers only. The checkpoint is borrowed, and stays open as long as the conversion lives.
 * NULL on failure: RML_INVALID_ARGUMENT for a dtype that is none of weights or a `pre` for a
 * vocabulary that has none, RML_UNSUPPORTED for a `pre` that is not known, else what
 * rml_model_config_read says, or of a folder what has no place in a GGUF. */
struct rml_conversion *rml_conversion_plan(const struct rml_checkpoint *cp,
                                           const struct rml_conversion_options *options,
                                           struct rml_error *err);
void rml_conversion_destroy(struct rml_conversion *conversion); /* NULL is allowed */

size_t rml_conversion_n_tensors(const struct rml_conversion *conversion);
/* The i-th, i < n_tensors, in the order of the output. */
const struct rml_conversion_tensor *rml_conversion_tensor(const struct rml_conversion *conversion,
                                                          size_t i);

/* False for a folder without a tokenizer.json: the output then has weights alone
 * (tokenizer.ggml.model "none"). */
bool rml_conversion_has_tokenizer(const struct rml_conversion *conversion);

/* What llama.cpp computes otherwise in the output than its metadata says, or why it does not load it: a
 * line each, i < n, that names the key; borrowed from the conversion. */
size_t rml_conversion_n_differences(const struct rml_conversion *conversion);
const char *rml_conversion_difference(const struct rml_conversion *conversion, size_t i);

/* Called now and then by the thread that called rml_conversion_write; false stops it
 * (RML_CANCELLED). */
typedef bool rml_conversion_progress_fn(void *user, uint64_t nelems_done, uint64_t nelems_total);

/*
 * Writes the file, a slab of rows at a time: memory is bounded by a few rows or 64 MB, whatever the
 * size of the model. The output stands under a temporary name beside `path` until it is whole and
 * synced, and is then renamed, so that a failure leaves what was at `path` as it was.
 *
 * RML_INVALID_ARGUMENT when `path` is a file of the checkpoint; RML_UNSUPPORTED, with tensor and
 * element, for a value that is not finite or that the type cannot hold; RML_IO when the file cannot
 * be written. `progress` may be NULL.
 */
bool rml_conversion_write(struct rml_conversion *conversion, const char *path,
                          struct rml_thread_pool *pool, rml_conversion_progress_fn *progress,
                          void *user, struct rml_error *err);

#endif
