/*
 * What llama.cpp makes of the output otherwise than its metadata says.
 *
 * A GGUF can say more than llama.cpp reads: some settings it takes as given for an architecture, and
 * computes with those in silence, or finds tensors of other sizes than it expects and does not
 * load the file. rml reads them all, so nothing is lost in the conversion; but who takes the file
 * there has to know. From the source of llama.cpp (llama-model.cpp and src/models/ of 2026), and tried
 * with it on the toys of goldens/fixtures: those that get a note differ or do not load, the others
 * agree.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "convert/folder.h"
#include "files/gguf.h"

/* Keeps a line in the conversion's arena. */
static bool keep(struct rml_conversion *c, const char *text, struct rml_error *err)
{
    const char *kept = rmli_arena_copy_string(&c->arena, text, strlen(text), err);
    if (kept && c->n_differences < RMLI_MAX_DIFFERENCES)
        c->differences[c->n_differences++] = kept;
    return kept != NULL;
}

/* "KEY is VALUE: ..." with the key's full name. */
__attribute__((format(printf, 4, 5))) static bool
note(struct rml_conversion *c, struct rml_error *err, const char *key, const char *format, ...)
{
    char text[256];
    int n = snprintf(text, sizeof text, "'%s.%s' ", rmli_gguf_architecture(&c->config), key);
    va_list args;
    va_start(args, format);
    vsnprintf(text + n, sizeof text - (size_t)n, format, args);
    va_end(args);
    return keep(c, text, err);
}

static bool is(const struct rml_conversion *c, const char *architecture)
{
    return strcmp(rmli_gguf_architecture(&c->config), architecture) == 0;
}

/* A number that a GGUF which is copied has under a key of its architecture; else `absent`. */
static double number_of(const struct rml_conversion *c, const char *name, double absent)
{
    if (rml_checkpoint_kind(c->cp) == RML_CHECKPOINT_HF)
        return absent;
    struct rml_error ignored = RML_ERROR_INIT;
    char key[128];
    double value = absent;
    snprintf(key, sizeof key, "%s.%s", rmli_gguf_architecture(&c->config), name);
    rmli_gguf_get_f64(rmli_checkpoint_gguf(c->cp), key, &value, NULL, &ignored);
    return value;
}

static bool note_rope(struct rml_conversion *c, struct rml_error *err)
{
    const struct rml_rope_scaling *s = &c->config.rope_scaling;
    bool ok = true;
    if (s->type == RML_ROPE_SCALING_YARN) {
        double usual = s->factor > 1 ? 0.1 * log(s->factor) + 1 : 1;
        double whole = number_of(c, "rope.scaling.yarn_attn_factor", usual);
        if (s->beta_fast != 32)
            ok = note(c, err, "rope.scaling.yarn_beta_fast",
                      "is %g: llama.cpp does not read it, and computes with 32", s->beta_fast);
        if (ok && s->beta_slow != 1)
            ok = note(c, err, "rope.scaling.yarn_beta_slow",
                      "is %g: llama.cpp does not read it, and computes with 1", s->beta_slow);
        if (ok && fabs(whole - usual) > 1e-6 * usual)
            ok = note(c, err, "rope.scaling.yarn_attn_factor",
                      "is %g: llama.cpp does not read it, and computes with %g", whole, usual);
        if (ok && number_of(c, "rope.scaling.yarn_log_multiplier", 0) != 0)
            ok = note(c, err, "rope.scaling.yarn_log_multiplier",
                      "is %g: llama.cpp does not read it, and computes with none",
                      number_of(c, "rope.scaling.yarn_log_multiplier", 0));
    }
    bool factors = s->type == RML_ROPE_SCALING_LLAMA3 || s->type == RML_ROPE_SCALING_FACTORS;
    if (ok && factors && !is(c, "llama"))
        ok = keep(
            c,
            "a tensor 'rope_freqs.weight': llama.cpp expects it of the architecture llama alone, "
            "and does not load the file",
            err);
    return ok;
}

static bool note_attention(struct rml_conversion *c, struct rml_error *err)
{
    const struct rml_model_config *config = &c->config;
    bool ok = true, slides = false, gemma = is(c, "gemma3");
    double usual =
        1 / sqrt(config->n_layer == 62 ? config->n_embd / config->n_head : config->head_dim);
    if (gemma && fabs((double)config->attention_scale - usual) > 1e-6 * usual)
        ok = note(c, err, "attention.scale",
                  "is %g: llama.cpp does not read it, and computes with %g",
                  (double)config->attention_scale, usual);
    for (uint32_t i = 0; i < config->n_layer; i++)
        slides = slides || config->sliding_layer[i];
    if (ok && !gemma && slides && config->sliding_window < config->n_context)
        ok = note(c, err, "attention.sliding_window",
                  "is %u: llama.cpp does not read it, and lets tokens attend further back",
                  config->sliding_window);
    if (ok && is(c, "olmoe") && config->n_head_kv != config->n_head)
        ok = note(c, err, "attention.head_count_kv",
                  "is %u: llama.cpp expects as many as heads, %u, and does not load the file",
                  config->n_head_kv, config->n_head);
    if (ok && (is(c, "olmoe") || is(c, "qwen2")) &&
        config->head_dim * config->n_head != config->n_embd)
        ok = note(c, err, "attention.key_length",
                  "is %u: llama.cpp expects heads to share the embedding_length, %u, and does not "
                  "load the file",
                  config->head_dim, config->n_embd);
    return ok;
}

bool rmli_conversion_note_differences(struct rml_conversion *c, struct rml_error *err)
{
    const struct rml_model_config *config = &c->config;
    bool usual = !is(c, "olmoe"); /* experts' weights are normalised */
    if (!note_rope(c, err) || !note_attention(c, err))
        return false;
    if (config->n_expert > 0 && config->normalize_expert_weights != usual)
        return note(c, err, "expert_weights_norm",
                    "is %s: llama.cpp does not read it, and computes with %s",
                    usual ? "false" : "true", usual ? "true" : "false");
    return true;
}

size_t rml_conversion_n_differences(const struct rml_conversion *c)
{
    return c->n_differences;
}

const char *rml_conversion_difference(const struct rml_conversion *c, size_t i)
{
    return c->differences[i];
}
