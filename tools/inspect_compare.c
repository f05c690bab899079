/*
 * What differs between two checkpoints.
 *
 * Weights are matched by what they are, so a GGUF can be held against the folder it
 * was made from. Two things are stored differently there and mean the same: GGUF
 * files of the llama architecture have the rows of q and k in another order (the pairs
 * that rotate together lie side by side), and Gemma's norms as 1 + w. Rows are
 * compared with their counterparts and norms as what multiplies; the two switches
 * that say so do not count as differences.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "inspect.h"
#include "inspect_views.h"
#include "tools/cli/json_out.h"
#include "tools/cli/options.h"
#include "tools/cli/report.h"

/* A multiple of every block. */
#define SEGMENT_NELEMS ((size_t)65536)

struct side {
    const struct rml_checkpoint *cp;
    bool known; /* the recipe */
    struct rml_model_config config;
    struct inspect_views views;
};

/* Of one task, or of all: elements of the part that differ, and the worst of them. */
struct difference {
    uint64_t n, at; /* counted in the part */
    float a, b;
    double largest; /* INFINITY when one is not finite */
    double sum_squares, sum_squares_a;
};

/* Rows of 1 segment or more, compared one with its counterpart. */
struct pair {
    const struct inspect_view *a, *b;
    uint64_t n_rows, n_cols, n_segments; /* segments of a row */
    uint64_t head_dim;                   /* rows change places within heads; 0: they do not */
    bool a_interleaved;                  /* it is a whose pairs lie side by side */
    float add_a, add_b;
    float **values;           /* [worker] -> [2 * SEGMENT_NELEMS] */
    struct difference *found; /* [n_rows * n_segments] */
    const char *progress;
};

/* ---- Values -------------------------------------------------------------------------- */

/* The row in interleaved order that is row `row` in half order. */
static uint64_t interleaved_row(uint64_t row, uint64_t head_dim)
{
    uint64_t head = row / head_dim, within = row % head_dim, half = head_dim / 2;
    return head * head_dim + 2 * (within % half) + within / half;
}

static bool is_same(float a, float b)
{
    return a == b || (isnan(a) && isnan(b));
}

static void compare_task(void *arg, size_t i, unsigned worker)
{
    struct pair *p = arg;
    uint64_t row = i / p->n_segments, col = i % p->n_segments * SEGMENT_NELEMS;
    size_t n = p->n_cols - col < SEGMENT_NELEMS ? (size_t)(p->n_cols - col) : SEGMENT_NELEMS;
    struct difference *found = &p->found[i];
    *found = (struct difference){0};
    if (cli_interrupted())
        return;
    uint64_t other = p->head_dim ? interleaved_row(row, p->head_dim) : row;
    uint64_t row_a = p->a_interleaved ? other : row, row_b = p->a_interleaved ? row : other;
    float *a = p->values[worker], *b = a + SEGMENT_NELEMS;
    rml_tensor_widen(p->a->tensor, p->a->first + row_a * p->n_cols + col, n, a);
    rml_tensor_widen(p->b->tensor, p->b->first + row_b * p->n_cols + col, n, b);
    for (size_t k = 0; k < n; k++) {
        float x = a[k] + p->add_a, y = b[k] + p->add_b;
        found->sum_squares_a += (double)x * (double)x;
        if (is_same(x, y))
            continue;
        double distance = fabs((double)x - (double)y);
        if (!isfinite(distance))
            distance = INFINITY;
        found->sum_squares += distance * distance;
        if (found->n++ == 0 || distance > found->largest) {
            found->largest = distance;
            found->at = row_a * p->n_cols + col + k;
            found->a = x;
            found->b = y;
        }
    }
    if (worker == 0)
        cli_progress("comparing %s", p->progress);
}

static struct difference merge(const struct pair *p)
{
    struct difference all = {0};
    for (size_t i = 0; i < p->n_rows * p->n_segments; i++) {
        const struct difference *f = &p->found[i];
        all.sum_squares += f->sum_squares;
        all.sum_squares_a += f->sum_squares_a;
        if (f->n && (all.n == 0 || f->largest > all.largest)) {
            all.largest = f->largest;
            all.at = f->at;
            all.a = f->a;
            all.b = f->b;
        }
        all.n += f->n;
    }
    return all;
}

static bool ends_with(const char *text, const char *ending)
{
    size_t n = strlen(text), n_ending = strlen(ending);
    return n >= n_ending && strcmp(text + n - n_ending, ending) == 0;
}

static bool is_rotated(const char *name)
{
    return strstr(name, ".attn_q.") || strstr(name, ".attn_k.");
}

/* How the parts are laid out against each other. */
static void plan(struct pair *p, const struct side *a, const struct side *b)
{
    const struct inspect_view *view = p->a;
    p->n_rows = 1;
    p->n_cols = inspect_view_nelems(view);
    if (a->known && b->known) {
        uint64_t head_dim = a->config.head_dim;
        if (a->config.rope_pairing != b->config.rope_pairing && is_rotated(view->name) &&
            b->config.head_dim == head_dim && view->dims[0] % head_dim == 0) {
            p->head_dim = head_dim;
            p->a_interleaved = a->config.rope_pairing == RML_ROPE_INTERLEAVED;
            p->n_rows = view->dims[0];
            p->n_cols /= p->n_rows;
        }
        if (a->config.norm_plus_one != b->config.norm_plus_one &&
            ends_with(view->name, "norm.weight")) {
            p->add_a = a->config.norm_plus_one;
            p->add_b = b->config.norm_plus_one;
        }
    }
    p->n_segments = (p->n_cols + SEGMENT_NELEMS - 1) / SEGMENT_NELEMS;
}

static bool compare_values(struct pair *p, const struct side *a, const struct side *b,
                           struct rml_thread_pool *pool, struct difference *all,
                           struct rml_error *err)
{
    plan(p, a, b);
    size_t n_tasks = (size_t)(p->n_rows * p->n_segments);
    p->found = malloc((n_tasks + 1) * sizeof *p->found);
    if (!p->found)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory to compare '%s'", p->a->name);
    rmli_parallel_for(pool, n_tasks, compare_task, p);
    *all = merge(p);
    free(p->found);
    return !cli_interrupted() ||
           rmli_fail(err, RML_CANCELLED, NULL, -1, "interrupted at the tensor '%s'", p->a->name);
}

/* ---- One pair of weights -------------------------------------------------------------- */

static json_t *shape_json(const struct inspect_view *view)
{
    json_t *shape = json_array();
    for (int d = 0; d < view->n_dims; d++)
        json_array_append_new(shape, json_integer((json_int_t)view->dims[d]));
    return shape;
}

static json_t *pair_json(const struct pair *p)
{
    return json_pack("{so so so ss ss so so}", "name", cli_json_text(p->a->name), "name_a",
                     cli_json_text(p->a->tensor->name), "name_b", cli_json_text(p->b->tensor->name),
                     "dtype_a", rml_dtype_traits(p->a->tensor->dtype)->name, "dtype_b",
                     rml_dtype_traits(p->b->tensor->dtype)->name, "shape_a", shape_json(p->a),
                     "shape_b", shape_json(p->b));
}

/* Appends to `list` what differs, if anything does. */
static bool compare_pair(struct pair *p, const struct side *a, const struct side *b,
                         struct rml_thread_pool *pool, json_t *list, struct rml_error *err)
{
    bool same_shape =
        p->a->n_dims == p->b->n_dims && memcmp(p->a->dims, p->b->dims, sizeof p->a->dims) == 0;
    struct difference d = {0};
    if (same_shape && !compare_values(p, a, b, pool, &d, err))
        return false;
    bool same_type = p->a->tensor->dtype == p->b->tensor->dtype;
    if (same_shape && same_type && d.n == 0)
        return true;
    json_t *entry = pair_json(p);
    json_array_append_new(list, entry);
    json_object_set_new(entry, "n_different",
                        same_shape ? json_integer((json_int_t)d.n) : json_null());
    bool any = d.n > 0;
    json_object_set_new(entry, "max_abs_difference",
                        same_shape ? cli_json_real(d.largest) : json_null());
    json_object_set_new(entry, "relative_rms_difference",
                        same_shape && d.sum_squares_a > 0
                            ? cli_json_real(sqrt(d.sum_squares / d.sum_squares_a))
                            : json_null());
    json_object_set_new(entry, "element",
                        any ? inspect_element(p->a->n_dims, p->a->dims, d.at) : json_null());
    json_object_set_new(entry, "a", any ? cli_json_real((double)d.a) : json_null());
    json_object_set_new(entry, "b", any ? cli_json_real((double)d.b) : json_null());
    return true;
}

/* ---- All of them ----------------------------------------------------------------------- */

/* Parts of one side that the other lacks. */
struct lone {
    const struct inspect_view **views; /* [n] */
    size_t n;
    uint64_t *nelems; /* [tensor of the checkpoint] in lone parts */
};

static bool lone_init(struct lone *lone, const struct side *side, struct rml_error *err)
{
    lone->views = calloc(side->views.n + 1, sizeof *lone->views);
    lone->nelems = calloc(rml_checkpoint_n_tensors(side->cp) + 1, sizeof *lone->nelems);
    return (lone->views && lone->nelems) ||
           rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %zu tensors", side->views.n);
}

static void lone_release(struct lone *lone)
{
    free(lone->views);
    free(lone->nelems);
}

static void lone_add(struct lone *lone, const struct inspect_view *view)
{
    lone->views[lone->n++] = view;
    lone->nelems[view->number] += inspect_view_nelems(view);
}

/* Names: that of the tensor, once, when nothing of it has a counterpart; else those of the parts. */
static json_t *lone_json(const struct lone *lone)
{
    json_t *names = json_array();
    for (size_t i = 0; i < lone->n; i++) {
        const struct inspect_view *view = lone->views[i];
        uint64_t *nelems = &lone->nelems[view->number], whole = 1;
        for (int d = 0; d < view->tensor->n_dims; d++)
            whole *= view->tensor->dims[d];
        if (*nelems == UINT64_MAX) /* named already */
            continue;
        bool is_whole = *nelems == whole;
        json_array_append_new(names, cli_json_text(is_whole ? view->tensor->name : view->name));
        if (is_whole)
            *nelems = UINT64_MAX;
    }
    return names;
}

static bool compare_views(const struct side *a, const struct side *b, float **values,
                          struct rml_thread_pool *pool, json_t *out, struct rml_error *err)
{
    struct lone only_a = {0}, only_b = {0};
    json_t *tensors = json_array();
    size_t i = 0, k = 0, n_compared = 0;
    bool ok = lone_init(&only_a, a, err) && lone_init(&only_b, b, err);
    while (ok && (i < a->views.n || k < b->views.n)) {
        const struct inspect_view *left = i < a->views.n ? &a->views.views[i] : NULL;
        const struct inspect_view *right = k < b->views.n ? &b->views.views[k] : NULL;
        int order = !left ? 1 : !right ? -1 : inspect_name_order(left->name, right->name);
        if (order == 0) {
            struct pair p = {.a = left, .b = right, .values = values, .progress = left->name};
            ok = compare_pair(&p, a, b, pool, tensors, err);
            n_compared++;
        } else {
            lone_add(order < 0 ? &only_a : &only_b, order < 0 ? left : right);
        }
        i += order <= 0;
        k += order >= 0;
    }
    cli_progress_clear();
    json_object_set_new(out, "n_compared", json_integer((json_int_t)n_compared));
    json_object_set_new(out, "only_a", lone_json(&only_a));
    json_object_set_new(out, "only_b", lone_json(&only_b));
    json_object_set_new(out, "tensors", tensors);
    lone_release(&only_a);
    lone_release(&only_b);
    return ok;
}

/* Switches of how the file stores what is otherwise equal. */
static bool is_storage(const char *key)
{
    return strcmp(key, "rope_pairing") == 0 || strcmp(key, "norm_plus_one") == 0;
}

static void compare_configs(const struct side *a, const struct side *b, json_t *list)
{
    json_t *left = a->known ? inspect_config(&a->config) : json_object();
    json_t *right = b->known ? inspect_config(&b->config) : json_object();
    const char *key;
    json_t *value;
    json_object_foreach(a->known ? left : right, key, value)
    {
        json_t *x = json_object_get(left, key), *y = json_object_get(right, key);
        if ((x && y && json_equal(x, y)) || (x && y && is_storage(key)))
            continue;
        json_array_append_new(list, json_pack("{ss sO sO}", "key", key, "a", x ? x : json_null(),
                                              "b", y ? y : json_null()));
    }
    json_decref(left);
    json_decref(right);
}

static void note(json_t *list, const char *key, const char *of, json_t *a, json_t *b)
{
    char name[64];
    snprintf(name, sizeof name, "%s%s%s", key, *of ? "." : "", of);
    json_array_append_new(list, json_pack("{ss sO sO}", "key", name, "a", a ? a : json_null(), "b",
                                          b ? b : json_null()));
}

/* Of the same kind: "tokenizer" with the hashes, if they differ, and each fact that does, as
 * "tokenizer.NAME": the hash of a GGUF's leaves the chat template out. */
static void compare_facts(json_t *left, json_t *right, json_t *list)
{
    json_t *x = json_object_get(left, "content_sha256"), *value;
    json_t *y = json_object_get(right, "content_sha256");
    bool known = json_is_string(x) && json_is_string(y);
    if (known ? !json_equal(x, y) : !json_equal(left, right))
        note(list, "tokenizer", "", x, y);
    const char *fact;
    json_object_foreach(known ? left : NULL, fact, value)
    {
        json_t *other = json_object_get(right, fact);
        if (!json_equal(value, other) && strcmp(fact, "content_sha256") != 0)
            note(list, "tokenizer", fact, value, other);
    }
}

static bool has_token(const struct rml_tokenizer *tokenizer, size_t id, struct rml_token_info *info)
{
    return rml_tokenizer_token(tokenizer, (int32_t)id, info) && info->kind != RML_TOKEN_UNUSED;
}

static json_t *token_words(bool exists, size_t id, const struct rml_token_info *info)
{
    char text[64];
    snprintf(text, sizeof text, "%.*s", info->nbytes < 40 ? (int)info->nbytes : 40, info->bytes);
    return exists ? json_pack("{sI so}", "id", (json_int_t)id, "text", cli_json_text(text))
                  : json_null();
}

/* The number of ids that stand for different bytes, and the first of them. */
static void compare_tokens(const struct rml_tokenizer *a, const struct rml_tokenizer *b,
                           json_t *list)
{
    size_t n_a = rml_tokenizer_n_vocab(a), n_b = rml_tokenizer_n_vocab(b), n_different = 0;
    for (size_t id = 0; id < (n_a > n_b ? n_a : n_b); id++) {
        struct rml_token_info x = {0}, y = {0};
        bool in_a = has_token(a, id, &x), in_b = has_token(b, id, &y);
        if (in_a == in_b && x.nbytes == y.nbytes &&
            (!in_a || x.nbytes == 0 || memcmp(x.bytes, y.bytes, x.nbytes) == 0))
            continue;
        if (n_different++ > 0)
            continue;
        json_t *p = token_words(in_a, id, &x), *q = token_words(in_b, id, &y);
        note(list, "tokenizer", "first_different_token", p, q);
        json_decref(p);
        json_decref(q);
    }
    json_t *n = json_integer((json_int_t)n_different);
    if (n_different > 0)
        note(list, "tokenizer", "n_different_tokens", n, n);
    json_decref(n);
}

/* Of a GGUF and a folder, whose hashes are over files of another form: what both tell. */
static void compare_across(const struct side *a, const struct side *b, json_t *left, json_t *right,
                           json_t *list)
{
    static const char *const facts[] = {"model",    "bos",    "eos",        "adds_bos",
                                        "adds_eos", "prefix", "chat_format"};
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        json_t *x = json_object_get(left, facts[i]), *y = json_object_get(right, facts[i]);
        if ((x || y) && !(x && y && json_equal(x, y)))
            note(list, "tokenizer", facts[i], x, y);
    }
    struct rml_tokenizer *of_a = rml_tokenizer_from_checkpoint(a->cp, NULL, NULL);
    struct rml_tokenizer *of_b = rml_tokenizer_from_checkpoint(b->cp, NULL, NULL);
    if (of_a && of_b)
        compare_tokens(of_a, of_b, list);
    rml_tokenizer_destroy(of_a);
    rml_tokenizer_destroy(of_b);
}

static void compare_tokenizers(const struct side *a, const struct side *b, json_t *list)
{
    json_t *left = inspect_tokenizer(a->cp), *right = inspect_tokenizer(b->cp);
    if (rml_checkpoint_kind(a->cp) == rml_checkpoint_kind(b->cp))
        compare_facts(left, right, list);
    else
        compare_across(a, b, left, right, list);
    json_decref(left);
    json_decref(right);
}

static bool side_init(struct side *side, const struct rml_checkpoint *cp, struct rml_error *err)
{
    side->cp = cp;
    side->known = rml_model_config_read(cp, &side->config, NULL);
    return inspect_views_init(&side->views, cp, side->known ? &side->config : NULL, err);
}

static void free_values(float **values, unsigned n)
{
    for (unsigned i = 0; values && i < n; i++)
        free(values[i]);
    free(values);
}

static float **make_values(unsigned n, struct rml_error *err)
{
    float **values = calloc(n, sizeof *values);
    bool ok = values != NULL;
    for (unsigned i = 0; ok && i < n; i++)
        ok = (values[i] = malloc(2 * SEGMENT_NELEMS * sizeof(float))) != NULL;
    if (ok)
        return values;
    free_values(values, n);
    rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %u threads", n);
    return NULL;
}

json_t *inspect_compare(const struct rml_checkpoint *cp_a, const struct rml_checkpoint *cp_b,
                        struct rml_thread_pool *pool, struct rml_error *err)
{
    struct side *sides = calloc(2, sizeof *sides), *a = sides, *b = sides + 1;
    float **values = make_values(rml_thread_pool_size(pool), err);
    json_t *out = json_object(), *config = json_array();
    bool ok = sides && values && side_init(a, cp_a, err) && side_init(b, cp_b, err);
    json_object_set_new(out, "equal", json_false());
    json_object_set_new(out, "config", config);
    if (ok) {
        compare_configs(a, b, config);
        compare_tokenizers(a, b, config);
        ok = inspect_views_split(&a->views, &b->views, a->known ? &a->config : NULL, err) &&
             inspect_views_split(&b->views, &a->views, b->known ? &b->config : NULL, err) &&
             compare_views(a, b, values, pool, out, err);
    }
    if (ok && json_array_size(config) == 0 &&
        json_array_size(json_object_get(out, "only_a")) == 0 &&
        json_array_size(json_object_get(out, "only_b")) == 0 &&
        json_array_size(json_object_get(out, "tensors")) == 0)
        json_object_set_new(out, "equal", json_true());
    if (sides) {
        inspect_views_release(&a->views);
        inspect_views_release(&b->views);
    }
    free(sides);
    free_values(values, rml_thread_pool_size(pool));
    if (!ok) {
        json_decref(out);
        if (err && err->code == RML_OK)
            rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory to compare");
        return NULL;
    }
    return out;
}
