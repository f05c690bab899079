/*
 * The two readers of a model's recipe, one for each source, and what they share.
 * Callers outside use rml_model_config_read.
 */
#ifndef RML_MODEL_CONFIG_READERS_H
#define RML_MODEL_CONFIG_READERS_H

#include "files/checkpoint.h"
#include "model/model_config.h"

struct json_t;
struct rmli_json_fields;

/* From the parsed text of a config.json; `file` is for messages. *config is
 * complete but not validated on success, undefined on failure. */
bool rmli_config_from_json(const struct json_t *root, const char *file,
                           struct rml_model_config *config, struct rml_error *err);

/* From GGUF metadata and the tensor table; as above. */
bool rmli_config_from_gguf(const struct rml_checkpoint *cp, struct rml_model_config *config,
                           struct rml_error *err);

/* Adds to an error about a member (its offset) the key that it was read from and the key's place,
 * when the file has that key. */
void rmli_config_gguf_blame(const struct rml_checkpoint *cp, size_t field, struct rml_error *err);

/* ---- Parts of the readers ------------------------------------------------ */

/* Settings of other architectures that would change the numbers: fails by name,
 * with the value found, unless they are absent or neutral. */
void rmli_refuse_json_settings(struct rmli_json_fields *f);
bool rmli_refuse_gguf_settings(const struct rmli_gguf *gguf, const char *arch,
                               struct rml_error *err);

/* Rotary settings of config.json into config's rope fields. The defaults of the family are
 * there already (rope_theta; rope_local_theta not 0 when sliding layers turn at a base of
 * their own); sizes, n_context and the window have been read. */
void rmli_rope_from_json(struct rmli_json_fields *f, struct rml_model_config *config);

/* YaRN's factor of cos and sin when it is not given: 0.1 mscale ln(factor) + 1, divided by
 * the same of mscale_all_dim when both are there (not 0). (Peng et al. 2023,
 * arXiv:2309.00071, as transformers and llama.cpp compute it.) */
double rmli_yarn_attention_factor(double factor, double mscale, double mscale_all_dim);

/* 1 / sqrt(n), rounded once: a scale of q . k. */
float rmli_inverse_sqrt(double n);

#endif
