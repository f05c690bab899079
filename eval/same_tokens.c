/*
 * Do two checkpoints mean the same by an id?
 */
#include "eval/same_tokens.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "eval/request_key.h"

bool check_same_vocabulary(uint32_t base, const struct eval_engine *candidate,
                           struct rml_error *err)
{
    return base == candidate->n_vocab ||
           rmli_fail(err, RML_FORMAT, candidate->name, -1,
                     "a vocabulary of %u tokens found, expected the base's %u", candidate->n_vocab,
                     base);
}

static bool other_ids(const struct eval_engine *candidate, const char *doc_id,
                      struct rml_error *err)
{
    return rmli_fail(err, RML_FORMAT, candidate->name, -1,
                     "its tokenizer gives other ids for '%s' than the base's, expected the same",
                     doc_id);
}

static bool check_ids(const struct eval_engine *candidate, const struct documents *documents,
                      const struct windows *base, const struct windows *other,
                      struct rml_error *err)
{
    for (size_t d = 0; d < base->n_docs; d++) {
        size_t n = base->docs[d].n_tokens;
        if (n != other->docs[d].n_tokens ||
            memcmp(base->ids[d], other->ids[d], n * sizeof(int32_t)) != 0)
            return other_ids(candidate, documents->docs[d].id, err);
    }
    return true;
}

bool check_same_tokens(uint32_t base_n_vocab, struct eval_engine *candidate,
                       const struct documents *documents, const struct window_settings *settings,
                       const struct windows *windows, struct rml_error *err)
{
    struct windows other = {0};
    bool ok = check_same_vocabulary(base_n_vocab, candidate, err) &&
              eval_engine_need_tokenizer(candidate, err) &&
              windows_init(&other, candidate, documents, settings, err) &&
              check_ids(candidate, documents, windows, &other, err);
    windows_release(&other);
    return ok;
}

static bool check_texts(const struct kld_base *base, const struct eval_engine *candidate,
                        struct documents *documents, struct rml_error *err)
{
    struct windows windows = {0};
    for (; documents->n < json_array_size(base->texts); documents->n++) {
        const json_t *entry = json_array_get(base->texts, documents->n);
        const json_t *text = json_object_get(entry, "text");
        documents->docs[documents->n] = (struct document){
            .id = (char *)(uintptr_t)json_string_value(json_object_get(entry, "id")),
            .text = json_string_value(text),
            .nbytes = json_string_length(text)};
    }
    bool ok = windows_init(&windows, candidate, documents, &base->window, err);
    for (size_t d = 0; ok && d < documents->n; d++) {
        const json_t *entry = json_array_get(base->texts, d);
        char sha256[65];
        ok = windows_ids_sha256(&windows, d, sha256, err) &&
             (strcmp(sha256, json_string_value(json_object_get(entry, "ids_sha256"))) == 0 ||
              other_ids(candidate, documents->docs[d].id, err));
    }
    windows_release(&windows);
    return ok;
}

bool check_same_tokens_of_file(const struct kld_base *base, const struct eval_engine *candidate,
                               struct rml_error *err)
{
    if (strcmp(base->tokenizer_sha256, candidate->tokenizer_sha256) == 0)
        return true;
    if (!base->texts)
        return rmli_fail(
            err, RML_FORMAT, candidate->name, -1,
            "the tokenizer %.12s... found, expected that of the stored base, %.12s..., "
            "which holds no texts to compare ids by",
            candidate->tokenizer_sha256, base->tokenizer_sha256);
    struct documents documents = {
        .docs = calloc(json_array_size(base->texts) + 1, sizeof *documents.docs)};
    bool ok = documents.docs ? check_texts(base, candidate, &documents, err)
                             : rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the texts");
    free(documents.docs); /* what they point to is the base's */
    return ok;
}
