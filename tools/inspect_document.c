/*
 * The document about one checkpoint.
 */
#include <stdlib.h>
#include <string.h>

#include "inspect.h"
#include "tools/cli/json_out.h"
#include "tools/cli/paths.h"

/* What is shown of a metadata value. */
enum { SHOWN_ELEMS = 8, SHOWN_NBYTES = 200 };

json_t *inspect_shape(const struct rml_tensor_info *tensor)
{
    json_t *shape = json_array();
    for (int i = 0; i < tensor->n_dims; i++)
        json_array_append_new(shape, json_integer((json_int_t)tensor->dims[i]));
    return shape;
}

json_t *inspect_element(int n_dims, const uint64_t *dims, uint64_t i)
{
    json_t *element = json_array();
    for (int d = n_dims; d-- > 0; i /= dims[d])
        json_array_insert_new(element, 0, json_integer((json_int_t)(i % dims[d])));
    return element;
}

/* ---- Tensors ------------------------------------------------------------------- */

static json_t *tensors_json(const struct rml_checkpoint *cp)
{
    json_t *tensors = json_array();
    for (size_t i = 0; i < rml_checkpoint_n_tensors(cp); i++) {
        const struct rml_tensor_info *tensor = rml_checkpoint_tensor(cp, i);
        json_array_append_new(tensors,
                              json_pack("{so ss so sI sI so}", "name", cli_json_text(tensor->name),
                                        "dtype", rml_dtype_traits(tensor->dtype)->name, "shape",
                                        inspect_shape(tensor), "nbytes", (json_int_t)tensor->nbytes,
                                        "offset", (json_int_t)tensor->offset, "file",
                                        cli_json_text(tensor->file)));
    }
    return tensors;
}

static json_t *dtypes_json(const struct rml_checkpoint *cp)
{
    size_t n[RML_N_DTYPES] = {0};
    uint64_t nbytes[RML_N_DTYPES] = {0};
    for (size_t i = 0; i < rml_checkpoint_n_tensors(cp); i++) {
        const struct rml_tensor_info *tensor = rml_checkpoint_tensor(cp, i);
        n[tensor->dtype]++;
        nbytes[tensor->dtype] += tensor->nbytes;
    }
    json_t *dtypes = json_array();
    for (int d = 0; d < RML_N_DTYPES; d++)
        if (n[d])
            json_array_append_new(
                dtypes, json_pack("{ss sI sI}", "dtype", rml_dtype_traits((enum rml_dtype)d)->name,
                                  "n_tensors", (json_int_t)n[d], "nbytes", (json_int_t)nbytes[d]));
    return dtypes;
}

/* ---- Tokenizer ------------------------------------------------------------------- */

/* The string that a GGUF has under a key, or null. */
static json_t *metadata_text(const struct rml_checkpoint *cp, const char *key)
{
    json_t *list = rml_checkpoint_metadata(cp, 1, SHOWN_NBYTES, NULL), *found = NULL;
    size_t i;
    const json_t *entry;
    json_array_foreach(
        list, i, entry) if (strcmp(json_string_value(json_object_get(entry, "key")), key) == 0)
        found = json_object_get(entry, "value");
    found = json_is_string(found) ? json_incref(found) : json_null();
    json_decref(list);
    return found;
}

static json_t *token_json(const struct rml_tokenizer *tokenizer, int32_t id)
{
    struct rml_token_info info;
    if (!rml_tokenizer_token(tokenizer, id, &info))
        return json_null();
    return json_pack("{si so}", "id", (int)id, "text", cli_json_bytes(info.bytes, info.nbytes));
}

static void add_template(json_t *out, const struct rml_tokenizer *tokenizer)
{
    const char *text = rml_tokenizer_chat_template(tokenizer);
    struct rml_error err = RML_ERROR_INIT;
    const struct rml_chat_format *format = text ? rml_chat_format_of_template(text, &err) : NULL;
    json_object_set_new(out, "chat_template", json_boolean(text != NULL));
    json_object_set_new(out, "chat_format",
                        format ? json_string(rml_chat_format_name(format)) : json_null());
    json_object_set_new(out, "chat_why_not",
                        text && !format ? cli_json_text(err.message) : json_null());
}

static json_t *count_json(uint64_t n)
{
    return n <= INT64_MAX ? json_integer((json_int_t)n) : json_real((double)n);
}

/* What tokenizer.json asks for beyond ids of a whole text; null when it does not. */
static void add_batching(json_t *out, const struct rml_tokenizer *tokenizer)
{
    const struct rml_tokenizer_batching b = rml_tokenizer_batching(tokenizer);
    json_t *length = b.fixed_length > 0 ? count_json(b.fixed_length) : json_null();
    json_object_set_new(
        out, "truncation",
        b.truncates ? json_pack("{so sb}", "max_length", count_json(b.max_length), "applied", false)
                    : json_null());
    json_object_set_new(out, "padding",
                        b.pads ? json_pack("{sO sb}", "fixed_length", length, "applied", false)
                               : json_null());
    json_decref(length);
}

static json_t *tokenizer_json(const struct rml_checkpoint *cp,
                              const struct rml_tokenizer *tokenizer)
{
    size_t n_vocab = rml_tokenizer_n_vocab(tokenizer), n_special = 0, n_added = 0;
    for (size_t id = 0; id < n_vocab; id++) {
        struct rml_token_info info;
        if (!rml_tokenizer_token(tokenizer, (int32_t)id, &info))
            continue;
        n_special += info.kind == RML_TOKEN_SPECIAL;
        n_added += info.kind == RML_TOKEN_ADDED;
    }
    char hex[65];
    bool hashed = rml_tokenizer_content_sha256(tokenizer, hex, NULL);
    json_t *out = json_pack(
        "{ss so so sI sI sI so so sb sb so ss?}", "model", rml_tokenizer_model(tokenizer),
        "gguf_model", metadata_text(cp, "tokenizer.ggml.model"), "pre",
        metadata_text(cp, "tokenizer.ggml.pre"), "n_vocab", (json_int_t)n_vocab, "n_special",
        (json_int_t)n_special, "n_added", (json_int_t)n_added, "bos",
        token_json(tokenizer, rml_tokenizer_bos(tokenizer)), "eos",
        token_json(tokenizer, rml_tokenizer_eos(tokenizer)), "adds_bos",
        (int)rml_tokenizer_adds_bos(tokenizer), "adds_eos", (int)rml_tokenizer_adds_eos(tokenizer),
        "prefix", token_json(tokenizer, rml_tokenizer_prefix(tokenizer)), "content_sha256",
        hashed ? hex : NULL);
    add_batching(out, tokenizer);
    add_template(out, tokenizer);
    return out;
}

json_t *inspect_tokenizer(const struct rml_checkpoint *cp)
{
    struct rml_error err = RML_ERROR_INIT;
    struct rml_tokenizer *tokenizer = rml_tokenizer_from_checkpoint(cp, NULL, &err);
    json_t *out;
    if (tokenizer)
        out = tokenizer_json(cp, tokenizer);
    else if (err.code == RML_NOT_FOUND)
        out = json_null();
    else
        out = json_pack("{so so so}", "error", cli_json_text(err.message), "file",
                        err.file[0] ? cli_json_text(err.file) : json_null(), "offset",
                        err.offset >= 0 ? json_integer((json_int_t)err.offset) : json_null());
    rml_tokenizer_destroy(tokenizer);
    return out;
}

/* ---- All of it -------------------------------------------------------------------- */

static bool add_hash(json_t *document, const struct rml_checkpoint *cp, bool compute,
                     struct rml_error *err)
{
    char hex[65], *cache = cli_content_hash_cache();
    bool known = compute ? rml_checkpoint_content_sha256(cp, cache, hex, err)
                         : rml_checkpoint_cached_sha256(cp, cache, hex);
    free(cache);
    json_object_set_new(document, "content_sha256", known ? json_string(hex) : json_null());
    return known || !compute;
}

static void add_recipe(json_t *document, const struct rml_checkpoint *cp, size_t ctx,
                       struct rml_thread_pool *pool)
{
    struct rml_error why = RML_ERROR_INIT;
    struct rml_model_config config;
    bool known = rml_model_config_read(cp, &config, &why);
    json_object_set_new(document, "runs", json_boolean(known));
    json_object_set_new(document, "why_not", known ? json_null() : cli_json_text(why.message));
    json_object_set_new(document, "config", known ? inspect_config(&config) : json_null());
    json_object_set_new(document, "n_parameters",
                        known ? json_integer((json_int_t)rml_parameter_count(&config))
                              : json_null());
    inspect_add_memory(document, cp, known ? &config : NULL, ctx, pool);
}

json_t *inspect_document(const struct rml_checkpoint *cp, const struct inspect_settings *settings,
                         struct rml_thread_pool *pool, struct rml_error *err)
{
    bool is_gguf = rml_checkpoint_kind(cp) == RML_CHECKPOINT_GGUF;
    json_t *document = json_pack("{so ss sI}", "checkpoint", cli_json_text(rml_checkpoint_path(cp)),
                                 "format", is_gguf ? "gguf" : "huggingface", "nbytes",
                                 (json_int_t)rml_checkpoint_nbytes(cp));
    json_t *verification = settings->verify ? inspect_verify(cp, pool, err) : NULL;
    bool ok = document && (verification || !settings->verify) &&
              add_hash(document, cp, settings->verify, err);
    if (!ok) {
        json_decref(verification);
        json_decref(document);
        return NULL;
    }
    add_recipe(document, cp, settings->ctx, pool);
    json_object_set_new(document, "tokenizer", inspect_tokenizer(cp));
    if (settings->metadata)
        json_object_set_new(document, "metadata",
                            rml_checkpoint_metadata(cp, SHOWN_ELEMS, SHOWN_NBYTES, err));
    json_object_set_new(document, "dtypes", dtypes_json(cp));
    json_object_set_new(document, "tensors", tensors_json(cp));
    if (verification)
        json_object_set_new(document, "verify", verification);
    return document;
}
