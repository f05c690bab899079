/* What is made of a Hugging Face folder; nothing outside lib/convert includes it. */
#ifndef RML_CONVERT_FOLDER_H
#define RML_CONVERT_FOLDER_H

#include "convert/conversion_private.h"
#include "model/weight_names.h"

/* general.architecture: "llama" for llama, mistral and mixtral, "gemma3" for gemma3_text ... */
const char *rmli_gguf_architecture(const struct rml_model_config *config);

bool rmli_conversion_plan_folder(struct rml_conversion *c, struct rml_error *err);

/* general.* and the hyperparameters. */
bool rmli_conversion_folder_metadata(const struct rml_conversion *c, struct rmli_gguf_writer *w,
                                     struct rml_error *err);
/* tokenizer.ggml.* and the chat template. */
bool rmli_conversion_folder_vocabulary(const struct rml_conversion *c, struct rmli_gguf_writer *w,
                                       struct rml_error *err);
/* Opens the tokenizer and finds its name, so that what cannot be written is known early. */
bool rmli_conversion_check_vocabulary(struct rml_conversion *c, struct rml_error *err);

#endif
