/* The recipe: which reader, is it sound, how many parameters. */
#include "model/model_config.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "kernels/kernels.h"
#include "model/config_readers.h"

bool rml_model_config_read(const struct rml_checkpoint *cp, struct rml_model_config *config,
                           struct rml_error *err)
{
    struct rml_model_config read;
    char file[1024];

    if (rml_checkpoint_kind(cp) == RML_CHECKPOINT_GGUF) {
        snprintf(file, sizeof file, "%s", rml_checkpoint_path(cp));
        if (!rmli_config_from_gguf(cp, &read, err))
            return false;
    } else {
        const char *folder = rml_checkpoint_path(cp);
        size_t n = strlen(folder);
        bool has_slash = n > 0 && folder[n - 1] == '/';
        snprintf(file, sizeof file, "%s%sconfig.json", folder, has_slash ? "" : "/");
        if (!rmli_config_from_json(rmli_checkpoint_config(cp), file, &read, err))
            return false;
    }
    size_t field;
    if (!rmli_model_config_validate(&read, file, &field, err)) {
        if (rml_checkpoint_kind(cp) == RML_CHECKPOINT_GGUF)
            rmli_config_gguf_blame(cp, field, err);
        return false;
    }
    *config = read;
    return true;
}

/*
 * Bounds of the sizes: those of the kernels, the others far beyond any model. They keep every
 * product in range: a matrix has at most 2^17 rows of 2^17, so one layer of 256 experts has less
 * than 3 * 2^42 elements, and 1024 of them fit 64 bits.
 */
static const struct {
    const char *what;
    size_t offset;
    uint32_t min, max;
} sizes[] = {
    {"vocabulary size", offsetof(struct rml_model_config, n_vocab), 1, 1 << 24},
    {"hidden size", offsetof(struct rml_model_config, n_embd), 1, RMLI_MATMUL_MAX_COLS},
    {"number of layers", offsetof(struct rml_model_config, n_layer), 1, RML_MAX_LAYERS},
    {"number of attention heads", offsetof(struct rml_model_config, n_head), 1, 1 << 14},
    {"number of key-value heads", offsetof(struct rml_model_config, n_head_kv), 1, 1 << 14},
    {"head size", offsetof(struct rml_model_config, head_dim), 2, RMLI_MAX_HEAD_DIM},
    {"context length", offsetof(struct rml_model_config, n_context), 1, INT32_MAX},
    {"sliding window", offsetof(struct rml_model_config, sliding_window), 0, INT32_MAX},
    {"number of experts", offsetof(struct rml_model_config, n_expert), 0, RML_MAX_EXPERTS},
};

static bool is_positive(double x)
{
    return isfinite(x) && x > 0;
}

/* What is validated, and which member was found wrong. */
struct validation {
    const struct rml_model_config *config;
    const char *file;
    size_t *field;
    struct rml_error *err;
};

static __attribute__((format(printf, 4, 5))) bool
refuse(const struct validation *v, size_t field, enum rml_code code, const char *format, ...)
{
    char message[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    *v->field = field;
    return rmli_fail(v->err, code, v->file, -1, "%s", message);
}

#define FIELD(member) offsetof(struct rml_model_config, member)

static bool validate_sizes(const struct validation *v)
{
    const struct rml_model_config *c = v->config;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint32_t n;
        memcpy(&n, (const char *)c + sizes[i].offset, sizeof n);
        if (n < sizes[i].min || n > sizes[i].max)
            return refuse(v, sizes[i].offset, RML_FORMAT, "the %s is %u, expected %u to %u",
                          sizes[i].what, n, sizes[i].min, sizes[i].max);
    }
    if (c->n_head % c->n_head_kv != 0)
        return refuse(v, FIELD(n_head_kv), RML_FORMAT,
                      "%u attention heads do not divide into %u key-value heads", c->n_head,
                      c->n_head_kv);
    if (c->head_dim % 2 != 0)
        return refuse(v, FIELD(head_dim), RML_FORMAT,
                      "the head size is %u, expected an even number (rotary pairs)", c->head_dim);
    if (c->n_head / c->n_head_kv > RMLI_MAX_HEAD_GROUP)
        return refuse(v, FIELD(n_head_kv), RML_UNSUPPORTED,
                      "%u attention heads share a key-value head, expected at most %d",
                      c->n_head / c->n_head_kv, RMLI_MAX_HEAD_GROUP);
    if ((size_t)c->n_head * c->head_dim > RMLI_MATMUL_MAX_COLS)
        return refuse(v, FIELD(head_dim), RML_UNSUPPORTED, "%u heads of %u are more than %zu rows",
                      c->n_head, c->head_dim, RMLI_MATMUL_MAX_COLS);
    return true;
}

static bool validate_feed_forward(const struct validation *v)
{
    const struct rml_model_config *c = v->config;
    uint32_t n_ff = c->n_expert ? c->n_ff_expert : c->n_ff;
    if (n_ff < 1 || n_ff > RMLI_MATMUL_MAX_COLS)
        return refuse(v, c->n_expert ? FIELD(n_ff_expert) : FIELD(n_ff), RML_FORMAT,
                      "the feed-forward size%s is %u, expected 1 to %zu",
                      c->n_expert ? " of an expert" : "", n_ff, RMLI_MATMUL_MAX_COLS);
    if (c->n_expert && (c->n_expert_used < 1 || c->n_expert_used > c->n_expert))
        return refuse(v, FIELD(n_expert_used), RML_FORMAT,
                      "%u experts are used for a token, expected 1 to %u (all of them)",
                      c->n_expert_used, c->n_expert);
    return true;
}

static bool validate_rope(const struct validation *v)
{
    const struct rml_model_config *c = v->config;
    const struct rml_rope_scaling *s = &c->rope_scaling;
    bool yarn = s->type == RML_ROPE_SCALING_YARN, llama3 = s->type == RML_ROPE_SCALING_LLAMA3;
    /* YaRN divides by the logarithm of theta. */
    if (!is_positive(c->rope_theta) || (yarn && c->rope_theta <= 1))
        return refuse(v, FIELD(rope_theta), RML_FORMAT,
                      "the rotary base is %g, expected a finite number above %d", c->rope_theta,
                      yarn);
    if (c->rope_local_theta != 0 && !is_positive(c->rope_local_theta))
        return refuse(v, FIELD(rope_local_theta), RML_FORMAT,
                      "the rotary base of sliding layers is %g, expected a finite number above 0",
                      c->rope_local_theta);

    const struct {
        const char *what;
        size_t field;
        double value;
        bool used;
    } numbers[] = {
        {"factor", FIELD(rope_scaling.factor), s->factor,
         yarn || llama3 || s->type == RML_ROPE_SCALING_LINEAR},
        {"original context", FIELD(rope_scaling.original_context), s->original_context,
         yarn || llama3},
        {"low_freq_factor", FIELD(rope_scaling.low_freq_factor), s->low_freq_factor, llama3},
        {"high_freq_factor", FIELD(rope_scaling.high_freq_factor), s->high_freq_factor, llama3},
        {"beta_fast", FIELD(rope_scaling.beta_fast), s->beta_fast, yarn},
        {"beta_slow", FIELD(rope_scaling.beta_slow), s->beta_slow, yarn},
        {"attention factor", FIELD(rope_scaling.attention_factor), s->attention_factor, yarn},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (numbers[i].used && !is_positive(numbers[i].value))
            return refuse(v, numbers[i].field, RML_FORMAT,
                          "the %s of the rotary scaling is %g, expected a finite number above 0",
                          numbers[i].what, numbers[i].value);
    if (llama3 && s->high_freq_factor <= s->low_freq_factor)
        return refuse(v, FIELD(rope_scaling.high_freq_factor), RML_FORMAT,
                      "high_freq_factor is %g, expected more than low_freq_factor, %g",
                      s->high_freq_factor, s->low_freq_factor);
    if (yarn && s->beta_fast < s->beta_slow)
        return refuse(v, FIELD(rope_scaling.beta_fast), RML_FORMAT,
                      "beta_fast is %g, expected at least beta_slow, %g", s->beta_fast,
                      s->beta_slow);
    return true;
}

bool rmli_model_config_validate(const struct rml_model_config *config, const char *file,
                                size_t *field, struct rml_error *err)
{
    const struct {
        const char *what;
        size_t field;
        float value;
    } scales[] = {
        {"epsilon of the norms", FIELD(norm_eps), config->norm_eps},
        {"embedding scale", FIELD(embedding_scale), config->embedding_scale},
        {"attention scale", FIELD(attention_scale), config->attention_scale},
    };
    size_t somewhere;
    const struct validation validation = {config, file, field ? field : &somewhere, err};
    const struct validation *v = &validation;
    if (!validate_sizes(v) || !validate_feed_forward(v))
        return false;
    for (size_t i = 0; i < sizeof scales / sizeof scales[0]; i++)
        if (!is_positive((double)scales[i].value))
            return refuse(v, scales[i].field, RML_FORMAT,
                          "the %s is %g, expected a finite number above 0", scales[i].what,
                          (double)scales[i].value);
    return validate_rope(v);
}

uint64_t rml_parameter_count(const struct rml_model_config *c)
{
    uint64_t n_embd = c->n_embd;
    uint64_t q_rows = (uint64_t)c->n_head * c->head_dim;
    uint64_t kv_rows = (uint64_t)c->n_head_kv * c->head_dim;

    uint64_t layer = 2 * n_embd * (q_rows + kv_rows) + 2 * n_embd;
    if (c->attention_bias)
        layer += q_rows + 2 * kv_rows;
    if (c->qk_norm == RML_QK_NORM_HEAD)
        layer += 2 * (uint64_t)c->head_dim;
    if (c->qk_norm == RML_QK_NORM_WHOLE)
        layer += q_rows + kv_rows;
    if (c->sandwich_norms)
        layer += 2 * n_embd;
    if (c->n_expert)
        layer += c->n_expert * (n_embd + 3 * n_embd * c->n_ff_expert);
    else
        layer += 3 * n_embd * c->n_ff;

    uint64_t vocabulary = n_embd * c->n_vocab;
    return c->n_layer * layer + n_embd + vocabulary * (c->tied_head ? 1 : 2);
}

double rmli_yarn_attention_factor(double factor, double mscale, double mscale_all_dim)
{
    if (factor <= 1)
        return 1;
    if (mscale == 0 || mscale_all_dim == 0)
        return 0.1 * log(factor) + 1;
    return (0.1 * mscale * log(factor) + 1) / (0.1 * mscale_all_dim * log(factor) + 1);
}

float rmli_inverse_sqrt(double n)
{
    return (float)(1 / sqrt(n));
}
