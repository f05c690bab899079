/*
 * Rotary settings of config.json.
 *
 * transformers 4 wrote rope_theta and rope_scaling at the top level, Gemma's
 * sliding layers' base as rope_local_base_freq. transformers 5 writes one
 * rope_parameters, flat or with a set for each layer type:
 *
 *     "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}
 *     "rope_parameters": {"full_attention": {...}, "sliding_attention": {...}}
 *
 * What rope_parameters says wins over the top level.
 */
#include <string.h>

#include "model/config_readers.h"
#include "model/json_fields.h"

static const struct {
    const char *name;
    enum rml_rope_scaling_type type;
} scaling_types[] = {
    {"default", RML_ROPE_SCALING_NONE},
    {"linear", RML_ROPE_SCALING_LINEAR},
    {"llama3", RML_ROPE_SCALING_LLAMA3},
    {"yarn", RML_ROPE_SCALING_YARN},
};

/* The fields of an object under a key of f; object NULL when the key is absent or null. */
static struct rmli_json_fields sub_fields(struct rmli_json_fields *f, const char *key,
                                          const char *path)
{
    struct rmli_json_fields sub = {.file = f->file, .path = path, .err = f->err, .ok = true};
    if (!rmli_field_has(f, key))
        return sub;
    if (json_is_object(rmli_field_get(f, key)))
        sub.object = rmli_field_get(f, key);
    else
        rmli_field_fail(f, RML_FORMAT, key, "an object or null");
    return sub;
}

static void read_type(struct rmli_json_fields *f, struct rml_rope_scaling *s)
{
    const char *key = rmli_field_has(f, "rope_type") ? "rope_type" : "type"; /* the older name */
    if (!rmli_field_has(f, key)) {
        if (rmli_field_has(f, "factor"))
            rmli_field_fail(f, RML_FORMAT, "rope_type", "a type, since there is a factor");
        return;
    }
    const char *name = json_string_value(rmli_field_get(f, key));
    for (size_t i = 0; name && i < sizeof scaling_types / sizeof scaling_types[0]; i++) {
        if (strcmp(name, scaling_types[i].name) == 0) {
            s->type = scaling_types[i].type;
            return;
        }
    }
    rmli_field_fail(f, name ? RML_UNSUPPORTED : RML_FORMAT, key, "default, linear, llama3 or yarn");
}

/* Settings inside a set that turn something other than whole heads by one position. */
static void refuse_other_rotations(struct rmli_json_fields *f)
{
    static const char *const keys[] = {"mrope_section", "short_factor", "long_factor",
                                       "llama_4_scaling_beta"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (rmli_field_has(f, keys[i]))
            rmli_field_fail(f, RML_UNSUPPORTED, keys[i], "null");
    double part = 1;
    rmli_field_f64_or_null(f, "partial_rotary_factor", 1, &part);
    if (part != 1)
        rmli_field_fail(f, RML_UNSUPPORTED, "partial_rotary_factor", "1");
}

static void require(struct rmli_json_fields *f, const char *key)
{
    if (!rmli_field_get(f, key))
        rmli_field_fail(f, RML_FORMAT, key, "a number");
}

static void read_yarn(struct rmli_json_fields *f, uint32_t n_context, bool for_all_layers,
                      struct rml_rope_scaling *s)
{
    double mscale = 0, mscale_all_dim = 0, given = -1;

    /* Written so by DeepSeek-V3: the factor is the ratio of the contexts. */
    if (json_is_null(rmli_field_get(f, "factor")) && s->original_context > 0)
        s->factor = n_context / s->original_context;
    else
        rmli_field_f64(f, "factor", &s->factor);
    rmli_field_f64_or_null(f, "beta_fast", 0, &s->beta_fast);
    rmli_field_f64_or_null(f, "beta_slow", 0, &s->beta_slow);
    s->beta_fast = s->beta_fast == 0 ? 32 : s->beta_fast;
    s->beta_slow = s->beta_slow == 0 ? 1 : s->beta_slow;
    rmli_field_bool(f, "truncate", &s->truncate);
    if (!s->truncate && !for_all_layers) /* transformers 5 does not look for it there */
        rmli_field_fail(f, RML_UNSUPPORTED, "truncate", "true in a set of some layers");

    rmli_field_f64_or_null(f, "mscale", 0, &mscale);
    rmli_field_f64_or_null(f, "mscale_all_dim", 0, &mscale_all_dim);
    rmli_field_f64_or_null(f, "attention_factor", -1, &given);
    if (rmli_field_has(f, "attention_factor"))
        s->attention_factor = given;
    else
        s->attention_factor = rmli_yarn_attention_factor(s->factor, mscale, mscale_all_dim);
}

/* One set: the base when it is given, and the scaling. top: the fields around a set for all
 * layers, where original_max_position_embeddings may stand too; NULL for one of several sets. */
static void read_set(struct rmli_json_fields *f, const struct rmli_json_fields *top,
                     uint32_t n_context, double *theta, struct rml_rope_scaling *s)
{
    *s = (struct rml_rope_scaling){.type = RML_ROPE_SCALING_NONE, .truncate = true};
    if (!f->object)
        return;
    rmli_field_f64(f, "rope_theta", theta);
    read_type(f, s);
    refuse_other_rotations(f);
    if (s->type == RML_ROPE_SCALING_NONE)
        return;

    require(f, "factor");
    if (s->type != RML_ROPE_SCALING_LINEAR) {
        s->original_context = n_context;
        rmli_field_f64(f, "original_max_position_embeddings", &s->original_context);
        if (top) { /* wins, as in transformers 5 */
            struct rmli_json_fields outer = *top;
            rmli_field_f64_or_null(&outer, "original_max_position_embeddings", s->original_context,
                                   &s->original_context);
            f->ok = f->ok && outer.ok;
        }
    }
    if (s->type == RML_ROPE_SCALING_YARN) {
        read_yarn(f, n_context, top != NULL, s);
        return;
    }
    rmli_field_f64(f, "factor", &s->factor);
    if (s->type == RML_ROPE_SCALING_LLAMA3) {
        require(f, "low_freq_factor");
        require(f, "high_freq_factor");
        rmli_field_f64(f, "low_freq_factor", &s->low_freq_factor);
        rmli_field_f64(f, "high_freq_factor", &s->high_freq_factor);
    }
}

static bool is_same_scaling(const struct rml_rope_scaling *a, const struct rml_rope_scaling *b)
{
    return a->type == b->type && a->factor == b->factor &&
           a->low_freq_factor == b->low_freq_factor && a->high_freq_factor == b->high_freq_factor &&
           a->original_context == b->original_context && a->beta_fast == b->beta_fast &&
           a->beta_slow == b->beta_slow && a->attention_factor == b->attention_factor &&
           a->truncate == b->truncate;
}

/* The set of the sliding layers: a base of their own where the family has one, never a
 * scaling. */
static void read_sliding_set(struct rmli_json_fields *f, struct rmli_json_fields *sliding,
                             struct rml_model_config *c)
{
    struct rml_rope_scaling scaling;
    double theta = c->rope_theta;
    bool own_base = c->rope_local_theta != 0;

    if (own_base) {
        theta = c->rope_local_theta;
        if (!sliding->object || !rmli_field_get(sliding, "rope_theta"))
            rmli_field_f64(f, "rope_local_base_freq", &theta);
    }
    read_set(sliding, NULL, c->n_context, &theta, &scaling);
    if (!sliding->ok) {
        f->ok = false;
    } else if (!own_base) {
        if (sliding->object && c->sliding_window &&
            (theta != c->rope_theta || !is_same_scaling(&scaling, &c->rope_scaling)))
            rmli_field_fail(f, RML_UNSUPPORTED, "rope_parameters",
                            "the same set for full_attention and sliding_attention in a %s",
                            c->architecture);
    } else if (scaling.type != RML_ROPE_SCALING_NONE) {
        rmli_field_fail(sliding, RML_UNSUPPORTED, "rope_type", "default for sliding layers");
        f->ok = false;
    } else if (theta == 0) { /* which would mean no base of their own */
        f->ok = rmli_fail(f->err, RML_FORMAT, f->file, -1,
                          "the rotary base of sliding layers is 0, expected more than 0");
    } else {
        c->rope_local_theta = theta;
    }
}

void rmli_rope_from_json(struct rmli_json_fields *f, struct rml_model_config *c)
{
    struct rmli_json_fields parameters = sub_fields(f, "rope_parameters", "rope_parameters.");
    struct rmli_json_fields scaling = sub_fields(f, "rope_scaling", "rope_scaling.");
    struct rmli_json_fields full = parameters,
                            sliding = {.file = f->file, .path = "", .err = f->err, .ok = true};
    if (!f->ok)
        return;

    bool nested = parameters.object && (rmli_field_get(&parameters, "full_attention") ||
                                        rmli_field_get(&parameters, "sliding_attention"));
    if (nested) {
        full = sub_fields(&parameters, "full_attention", "rope_parameters.full_attention.");
        sliding =
            sub_fields(&parameters, "sliding_attention", "rope_parameters.sliding_attention.");
        /* Only Gemma's class fills a missing set; elsewhere it would mean no rotation. */
        if (!full.object && c->rope_local_theta == 0)
            rmli_field_fail(&parameters, RML_UNSUPPORTED, "full_attention", "an object");
    }
    if (!full.object || !rmli_field_get(&full, "rope_theta"))
        rmli_field_f64(f, "rope_theta", &c->rope_theta);
    /* Gemma's class puts even a single set among several. */
    const struct rmli_json_fields *top = nested || c->rope_local_theta != 0 ? NULL : f;
    read_set(&full, top, c->n_context, &c->rope_theta, &c->rope_scaling);

    if (scaling.object && json_object_size(scaling.object) > 0) {
        struct rml_rope_scaling older;
        double theta = c->rope_theta;
        read_set(&scaling, top, c->n_context, &theta, &older);
        if (!full.object)
            c->rope_scaling = older;
        else if (scaling.ok && !is_same_scaling(&older, &c->rope_scaling))
            rmli_field_fail(f, RML_UNSUPPORTED, "rope_scaling", "the scaling of rope_parameters");
        if (!full.object)
            c->rope_theta = theta;
    }
    read_sliding_set(f, &sliding, c);
    f->ok = f->ok && parameters.ok && full.ok && scaling.ok;
}
