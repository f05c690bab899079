/*
 * What the parts of rml-inspect share. Everything found goes into one JSON document,
 * which is printed as it is or as text.
 */
#ifndef TOOLS_INSPECT_H
#define TOOLS_INSPECT_H

#include <jansson.h>

#include "rml.h"

struct inspect_settings {
    size_t ctx; /* the one context length of the table of caches; 0: several */
    bool metadata;
    bool verify;
};

/* All that headers tell of a checkpoint, and the result of verification; NULL with an error. A
 * recipe or tokenizer that rml cannot read does not stop it: the document says why. */
json_t *inspect_document(const struct rml_checkpoint *cp, const struct inspect_settings *settings,
                         struct rml_thread_pool *pool, struct rml_error *err);

/* The parts of the document. */
json_t *inspect_config(const struct rml_model_config *config);
/* The keys "runs", "why_not" and "memory"; config may be NULL. */
void inspect_add_memory(json_t *document, const struct rml_checkpoint *cp,
                        const struct rml_model_config *config, size_t ctx,
                        struct rml_thread_pool *pool);
/* Null when the checkpoint has none; {"error", "file", "offset"} when it cannot be read. */
json_t *inspect_tokenizer(const struct rml_checkpoint *cp);
json_t *inspect_shape(const struct rml_tensor_info *tensor);
/* [row, column] of a number of elements counted from 0, in a tensor of that shape. */
json_t *inspect_element(int n_dims, const uint64_t *dims, uint64_t i);

/*
 * Reads every tensor: {"passed", "n_tensors", "n_values", "findings": [{"tensor", "kind": "nan",
 * "inf" or "absurd", "n", "element", "value", "typical"}]}. Absurd is what a flipped bit of a
 * block's scale makes; inspect_verify.c has the rule. NULL with an error, RML_CANCELLED after
 * SIGINT.
 */
json_t *inspect_verify(const struct rml_checkpoint *cp, struct rml_thread_pool *pool,
                       struct rml_error *err);

/* Two checkpoints: {"equal", "config": [...], "only_a": [...], "only_b": [...], "tensors": [...],
 * "n_compared"}; see inspect_compare.c. only_a, only_b: names of tensors as their checkpoint has
 * them; of a part that alone lacks a counterpart (an expert of a stack), its GGUF name. */
json_t *inspect_compare(const struct rml_checkpoint *a, const struct rml_checkpoint *b,
                        struct rml_thread_pool *pool, struct rml_error *err);

void inspect_print(const json_t *document);
void inspect_print_metadata(const json_t *metadata);
void inspect_print_findings(const json_t *verification);
/* each: every tensor on a line of its own, however many. */
void inspect_print_differences(const json_t *differences, const char *a, const char *b, bool each);

/* "4.7 GB" */
void inspect_show_nbytes(double nbytes, char out[32]);

#endif
