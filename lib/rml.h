/*
 * rml: runs decoder-only language models on the CPU, to measure and judge them.
 *
 * This is the public interface; the contracts stand in the headers below.
 *
 *     struct rml_error err = RML_ERROR_INIT;
 *     struct rml_checkpoint *cp = rml_checkpoint_open("model.gguf", &err);
 *     struct rml_model *model = cp ? rml_model_load(cp, &err) : NULL;
 *     if (!model)
 *         ... err.file, err.message, err.offset; every call below fails in the same way
 *     struct rml_thread_pool *pool = rml_thread_pool_create(0, &err);
 *     struct rml_context *context = rml_context_create(model, pool, NULL, &err);
 *     struct rml_kv_shape shape = rml_model_kv_shape(model, RML_KV_F32, RML_KV_F32);
 *     struct rml_kv_cache *cache = rml_kv_cache_create(&shape, 8, &err);
 *     struct rml_sequence *sequence = rml_sequence_create(cache, 512, &err);
 *     rml_forward_tokens(context, sequence, tokens, n_tokens, false, logits, &err);
 *
 * Shapes are row-major and written outermost first. Sizes are in bytes where a
 * name ends in _nbytes and in elements where it does not. Objects are made by
 * _create, _open or _load and given back by _destroy or _close, which accept
 * NULL. The library never prints, exits or aborts; a call that fails says so by
 * its result, says why in the rml_error, and leaves its objects as they were. From C++
 * (17 or later) include this header, not those below it.
 */
#ifndef RML_H
#define RML_H

/* What the headers below need of the standard, outside of the linkage that they get in C++. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "base/error.h"
#include "base/thread_pool.h"
#include "convert/conversion.h"
#include "files/checkpoint.h"
#include "files/checkpoint_metadata.h"
#include "generate/sampler.h"
#include "generate/session.h"
#include "generate/stop_ids.h"
#include "kernels/cpu_features.h"
#include "model/decoder.h"
#include "model/kv_cache.h"
#include "model/model_config.h"
#include "model/numerics.h"
#include "model/profile.h"
#include "model/tensor_values.h"
#include "tensor/dtype.h"
#include "text/chat.h"
#include "text/chat_json.h"
#include "text/tokenizer.h"

#ifdef __cplusplus
}
#endif

#endif
