/* What the parts of a conversion share; nothing outside lib/convert includes it. */
#ifndef RML_CONVERT_CONVERSION_PRIVATE_H
#define RML_CONVERT_CONVERSION_PRIVATE_H

#include "base/arena.h"
#include "convert/conversion.h"
#include "files/gguf_writer.h"
#include "model/model_config.h"

#define RMLI_MAX_DIFFERENCES 16

/* Consecutive rows of a tensor of the checkpoint. */
struct rmli_conversion_source {
    const struct rml_tensor_info *tensor;
    uint64_t first_row;
};

/*
 * A tensor of the output: rows_per_source rows from each of the sources, one after another; or
 * computed values.
 *
 * n_heads > 0: within each head of the rows, the output's rows 2i and 2i + 1 are the input's i and
 * i + half. That is how files of the llama architecture store q and k, whose rotary
 * embedding pairs neighbours, where Hugging Face's pairs the halves.
 */
struct rmli_planned_tensor {
    struct rml_conversion_tensor info;
    struct rmli_conversion_source *sources; /* in the arena; NULL: values */
    size_t n_sources;
    uint64_t rows_per_source;
    uint64_t n_heads;
    bool plus_one;       /* w becomes 1 + w: Gemma's norms */
    const float *values; /* [nelems], in the arena */
};

struct rml_conversion {
    const struct rml_checkpoint *cp;
    struct rml_conversion_options options;
    struct rml_model_config config;
    struct rmli_arena arena;
    struct rmli_planned_tensor *tensors; /* [n_tensors] */
    size_t n_tensors, tensor_capacity;
    bool has_tokenizer;
    struct rml_tokenizer *tokenizer;               /* of a folder; NULL: it has none */
    const char *differences[RMLI_MAX_DIFFERENCES]; /* [n_differences], in the arena */
    size_t n_differences;
};

/*
 * Appends a tensor and decides its type; `from` counts for tensors that keep theirs (a folder's
 * become F32). The name is copied. The caller fills in where it comes from. NULL with
 * RML_NO_MEMORY.
 */
struct rmli_planned_tensor *rmli_conversion_add(struct rml_conversion *c, const char *name,
                                                enum rml_dtype from, int n_dims,
                                                const uint64_t *dims, struct rml_error *err);
/* Sources of a tensor, zeroed. */
bool rmli_conversion_add_sources(struct rml_conversion *c, struct rmli_planned_tensor *tensor,
                                 size_t n, struct rml_error *err);

/* Notes what llama.cpp will make of the output otherwise; the config is read. */
bool rmli_conversion_note_differences(struct rml_conversion *c, struct rml_error *err);

/* general.file_type of a file whose matrices are of this type (llama.cpp's llama_ftype), and
 * general.quantization_version. */
uint32_t rmli_file_type(enum rml_dtype dtype);
enum { RMLI_QUANTIZATION_VERSION = 2 };

/* Metadata of the output, added to the writer. */
bool rmli_conversion_gguf_metadata(const struct rml_conversion *c, struct rmli_gguf_writer *w,
                                   struct rml_error *err);

#endif
