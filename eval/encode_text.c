/*
 * Text to ids as scoring wants it.
 */
#include "eval/encode_text.h"

#include <string.h>

/* lm-eval asks for the prefix token, which is BOS where there is one. */
static bool begins_with_prefix(const struct eval_engine *engine, const char *text, size_t nbytes)
{
    struct rml_token_info prefix;
    int32_t id = rml_tokenizer_prefix(engine->tokenizer);
    return id >= 0 && rml_tokenizer_token(engine->tokenizer, id, &prefix) && prefix.nbytes > 0 &&
           nbytes >= prefix.nbytes && memcmp(text, prefix.bytes, prefix.nbytes) == 0;
}

bool encode_text(const struct eval_engine *engine, const char *text, size_t nbytes,
                 struct rml_ids *ids, struct rml_error *err)
{
    bool has_bos = begins_with_prefix(engine, text, nbytes);
    unsigned flags = RML_PARSE_SPECIAL | (has_bos ? 0U : RML_ADD_SPECIAL);
    return eval_engine_encode(engine, text, nbytes, flags, ids, err);
}

bool encode_spans(const struct eval_engine *engine, const struct rml_text_span *spans, size_t n,
                  const char *text, size_t nbytes, struct rml_ids *ids, struct rml_error *err)
{
    bool has_bos = begins_with_prefix(engine, text, nbytes);
    size_t begin = ids->n;
    return rml_tokenizer_encode_spans(engine->tokenizer, spans, n, has_bos ? 0 : RML_ADD_SPECIAL,
                                      ids, err) &&
           eval_engine_check_ids(engine, ids, begin, err);
}

bool encode_prefix(const struct eval_engine *engine, int32_t *id, struct rml_error *err)
{
    *id = rml_tokenizer_prefix(engine->tokenizer);
    if (*id < 0 || (uint32_t)*id >= engine->n_vocab)
        return rmli_fail(err, RML_UNSUPPORTED, engine->name, -1,
                         "the tokenizer has neither BOS nor EOS, expected one to condition a text "
                         "on that has no context");
    return true;
}
