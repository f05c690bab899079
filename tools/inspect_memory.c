/*
 * What a model needs: weights, caches of several lengths and types, scratch.
 *
 * Scratch depends on how matrices are worked on, so a model is loaded and a context
 * made, which allocates and does not touch. Whether it can be loaded is the answer to
 * whether rml runs it.
 */
#include <string.h>

#include "inspect.h"
#include "tools/cli/json_out.h"

/* As the programs choose by default. */
#define DEFAULT_CTX 4096

/* Matrices that lie unaligned in a safetensors file are copied when a model is loaded. Beyond
 * this many bytes that is not done only to look. */
#define MAX_COPIED_NBYTES ((size_t)1 << 26)

static size_t unaligned_nbytes(const struct rml_checkpoint *cp)
{
    size_t nbytes = 0;
    for (size_t i = 0; i < rml_checkpoint_n_tensors(cp); i++) {
        const struct rml_tensor_info *tensor = rml_checkpoint_tensor(cp, i);
        if ((uintptr_t)tensor->data % rml_dtype_traits(tensor->dtype)->alignment != 0)
            nbytes += tensor->nbytes;
    }
    return nbytes;
}

static json_t *cache_table(const struct rml_model_config *config, size_t ctx)
{
    json_t *table = json_array();
    size_t lengths[16], n = 0;
    size_t trained = config->n_context;
    if (ctx) {
        lengths[n++] = ctx;
    } else {
        for (size_t length = 1024; length < trained && n < 15; length *= 4)
            lengths[n++] = length;
        lengths[n++] = trained;
    }
    for (size_t i = 0; i < n; i++) {
        for (int dtype = 0; dtype < RML_N_KV_DTYPES; dtype++) {
            const struct rml_kv_shape shape = {.n_layer = config->n_layer,
                                               .n_head_kv = config->n_head_kv,
                                               .head_dim = config->head_dim,
                                               .k_dtype = (enum rml_kv_dtype)dtype,
                                               .v_dtype = (enum rml_kv_dtype)dtype};
            size_t n_pages = (lengths[i] + RML_PAGE_TOKENS - 1) / RML_PAGE_TOKENS, nbytes;
            bool fits = !__builtin_mul_overflow(n_pages, rml_kv_page_nbytes(&shape), &nbytes);
            json_array_append_new(table,
                                  json_pack("{si ss so}", "ctx", (int)lengths[i], "dtype",
                                            rml_kv_dtype_name((enum rml_kv_dtype)dtype), "nbytes",
                                            fits ? json_integer((json_int_t)nbytes) : json_null()));
        }
    }
    return table;
}

static json_t *scratch_nbytes(const struct rml_model *model, enum rml_arithmetic arithmetic,
                              size_t ctx, struct rml_thread_pool *pool)
{
    const struct rml_context_params params = {.arithmetic = arithmetic, .max_context = ctx};
    struct rml_context *context = rml_context_create(model, pool, &params, NULL);
    json_t *nbytes =
        context ? json_integer((json_int_t)rml_context_scratch_nbytes(context)) : json_null();
    rml_context_destroy(context);
    return nbytes;
}

/* The checkpoint once more, for a model takes it over. */
static struct rml_model *load(const struct rml_checkpoint *cp, struct rml_error *err)
{
    struct rml_checkpoint *own = rml_checkpoint_open(rml_checkpoint_path(cp), err);
    struct rml_model *model = own ? rml_model_load(own, err) : NULL;
    if (!model)
        rml_checkpoint_close(own);
    return model;
}

void inspect_add_memory(json_t *document, const struct rml_checkpoint *cp,
                        const struct rml_model_config *config, size_t ctx,
                        struct rml_thread_pool *pool)
{
    json_t *memory = json_object();
    json_object_set_new(document, "memory", memory);
    uint64_t nbytes = 0;
    for (size_t i = 0; i < rml_checkpoint_n_tensors(cp); i++)
        nbytes += rml_checkpoint_tensor(cp, i)->nbytes;
    json_object_set_new(memory, "weights_nbytes", json_integer((json_int_t)nbytes));
    json_object_set_new(memory, "copied_nbytes", json_null());
    json_object_set_new(memory, "kv", config ? cache_table(config, ctx) : json_array());
    json_object_set_new(memory, "scratch", json_null());
    if (!config)
        return; /* "runs" and "why_not" have been set */

    size_t copied_nbytes = unaligned_nbytes(cp);
    if (copied_nbytes > MAX_COPIED_NBYTES) {
        json_object_set_new(memory, "copied_nbytes", json_integer((json_int_t)copied_nbytes));
        json_object_set_new(document, "runs", json_null());
        json_object_set_new(document, "why_not",
                            json_string("not tried: unaligned tensors would have to be copied"));
        return;
    }
    struct rml_error err = RML_ERROR_INIT;
    struct rml_model *model = load(cp, &err);
    json_object_set_new(document, "runs", json_boolean(model != NULL));
    if (!model) {
        json_object_set_new(document, "why_not", cli_json_text(err.message));
        return;
    }
    if (!ctx)
        ctx = config->n_context < DEFAULT_CTX ? config->n_context : DEFAULT_CTX;
    json_object_set_new(memory, "copied_nbytes",
                        json_integer((json_int_t)rml_model_copied_nbytes(model)));
    json_object_set_new(memory, "scratch",
                        json_pack("{si si so so}", "ctx", (int)ctx, "threads",
                                  (int)rml_thread_pool_size(pool), "f32",
                                  scratch_nbytes(model, RML_ARITHMETIC_F32, ctx, pool), "i8",
                                  scratch_nbytes(model, RML_ARITHMETIC_I8, ctx, pool)));
    rml_model_destroy(model);
}
