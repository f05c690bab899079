/*
 * The pre-tokenizers that GGUF files name in tokenizer.ggml.pre.
 *
 * The name stands for what tokenizer.json of that family says; each is built from the same parts.
 */
#ifndef RML_TEXT_PRE_NAMES_H
#define RML_TEXT_PRE_NAMES_H

#include "text/tokenizer_private.h"

struct rmli_pre_name {
    const char *name;
    const char *steps[8]; /* see pre_names.c; NULL after the last */
    bool nfc, ignore_merges, add_bos;
};

/* NULL when there is no such name. */
const struct rmli_pre_name *rmli_pre_find(const char *name, size_t nbytes);
/* Why a name that llama.cpp knows is not in the table; NULL when it does not know it, or is. */
const char *rmli_pre_refusal(const char *name, size_t nbytes);
/* All names, separated by spaces. */
void rmli_pre_list(char *out, size_t out_nbytes);
/* The entry of a name, or an error about `file`: why not, or which names there are. */
const struct rmli_pre_name *rmli_pre_require(const char *name, size_t nbytes, const char *file,
                                             struct rml_error *err);
/* Whether somebody may choose the pre-tokenizer `name` for a vocabulary: only those of byte-level
 * BPE (`model` "gpt2") have one. `model` is what tokenizer.ggml.model says or would say. */
bool rmli_pre_may_choose(const char *name, const char *model, size_t model_nbytes, const char *file,
                         struct rml_error *err);
/* Fills the pipeline's pre-tokenizers and normalizers. */
bool rmli_pre_apply(const struct rmli_pre_name *pre, struct rmli_pipeline *pipeline,
                    struct rml_error *err);
/* The first name in the table whose pipeline cuts texts as this one does, so that a reader of the
 * name gets the same ids; NULL when there is none. Compared are normalizers, each step with its
 * expression, and ignore_merges. */
const struct rmli_pre_name *rmli_pre_identify(const struct rmli_pipeline *pipeline);

#endif
