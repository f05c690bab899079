/* Adding steps to a pipeline. */
#include "text/json_parts.h"

static bool has_room(size_t n, struct rml_error *err)
{
    return n < RMLI_MAX_STEPS ||
           rmli_fail(err, RML_UNSUPPORTED, NULL, -1,
                     "the tokenizer has more than %d steps of a kind", RMLI_MAX_STEPS);
}

struct rmli_pretokenizer *rmli_pipeline_add_pretokenizer(struct rmli_pipeline *pipeline,
                                                         enum rmli_pretokenizer_kind kind,
                                                         struct rml_error *err)
{
    if (!has_room(pipeline->n_pretokenizers, err))
        return NULL;
    struct rmli_pretokenizer *step = &pipeline->pretokenizers[pipeline->n_pretokenizers++];
    *step = (struct rmli_pretokenizer){.kind = kind, .behavior = RMLI_SPLIT_ISOLATED};
    return step;
}

struct rmli_normalizer *rmli_pipeline_add_normalizer(struct rmli_pipeline *pipeline,
                                                     enum rmli_normalizer_kind kind,
                                                     struct rml_error *err)
{
    if (!has_room(pipeline->n_normalizers, err))
        return NULL;
    struct rmli_normalizer *step = &pipeline->normalizers[pipeline->n_normalizers++];
    *step = (struct rmli_normalizer){.kind = kind};
    return step;
}

struct rmli_decoder_step *rmli_decoder_add(struct rmli_decoder *decoder,
                                           enum rmli_decoder_kind kind, struct rml_error *err)
{
    if (!has_room(decoder->n_steps, err))
        return NULL;
    struct rmli_decoder_step *step = &decoder->steps[decoder->n_steps++];
    *step = (struct rmli_decoder_step){.kind = kind};
    decoder->present = true;
    return step;
}

char *rmli_copy(const char *s, size_t nbytes, struct rml_error *err)
{
    char *copy = rmli_alloc(nbytes + 1, 1, err);
    if (copy) {
        if (nbytes > 0)
            memcpy(copy, s, nbytes);
        copy[nbytes] = 0;
    }
    return copy;
}
