/*
 * Reading a golden file.
 */
#include "goldens/golden_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "goldens/golden_json.h"
#include "tools/cli/parse.h"

void golden_release(struct golden *golden)
{
    for (size_t i = 0; i < golden->n_cases; i++) {
        struct golden_case *c = &golden->cases[i];
        for (size_t j = 0; j < c->n_positions; j++) {
            free(c->positions[j].ids);
            free(c->positions[j].logits);
        }
        free(c->positions);
        free(c->residual);
        free(c->greedy);
        free(c->tokens);
        free(c->source.text);
        free(c->source.chat_format);
        rml_conversation_release(&c->source.conversation);
        free(c->name);
    }
    free(golden->cases);
    free(golden->model_arch);
    free(golden->source_dtype);
    free(golden->source_version);
    free(golden->source_engine);
    free(golden->name);
    free(golden->path);
    *golden = (struct golden){0};
}

void golden_destroy(struct golden *golden)
{
    if (golden)
        golden_release(golden);
    free(golden);
}

static bool no_memory(const struct golden_reader *r)
{
    return rmli_fail(r->err, RML_NO_MEMORY, r->file, -1, "no memory for its contents");
}

/* ---- One position ---------------------------------------------------------- */

static int compare_ids(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

static bool read_top(const struct golden_reader *r, const json_t *top, const char *place,
                     struct golden_position *p)
{
    p->n = json_array_size(top);
    if (p->n == 0)
        return golden_refuse(r, place, "an empty 'top' found, expected at least one [id, logit]");
    p->ids = calloc(p->n, sizeof *p->ids);
    p->logits = calloc(p->n, sizeof *p->logits);
    if (!p->ids || !p->logits)
        return no_memory(r);
    for (size_t i = 0; i < p->n; i++) {
        char at[GOLDEN_PLACE_NBYTES];
        snprintf(at, sizeof at, "%.100s.top[%zu]", place, i);
        const json_t *pair = json_array_get(top, i);
        int64_t id = 0;
        if (json_array_size(pair) != 2)
            return golden_refuse(r, at, "expected a pair [id, logit]");
        if (!golden_integer(r, json_array_get(pair, 0), at, 0, INT32_MAX, &id) ||
            !golden_number(r, json_array_get(pair, 1), at, &p->logits[i]))
            return false;
        p->ids[i] = (int32_t)id;
    }
    int32_t *sorted = malloc(p->n * sizeof *sorted);
    if (!sorted)
        return no_memory(r);
    memcpy(sorted, p->ids, p->n * sizeof *sorted);
    qsort(sorted, p->n, sizeof *sorted, compare_ids);
    int32_t twice = -1;
    for (size_t i = 1; i < p->n; i++)
        if (sorted[i] == sorted[i - 1])
            twice = sorted[i];
    free(sorted);
    return twice < 0 || golden_refuse(r, place, "id %d is in 'top' twice", (int)twice);
}

static int compare_positions(const void *left, const void *right)
{
    const struct golden_position *a = left, *b = right;
    return (a->position > b->position) - (a->position < b->position);
}

static bool read_position(const struct golden_reader *r, const json_t *object, const char *place,
                          const struct golden_case *c, size_t index)
{
    struct golden_position *p = &c->positions[index];
    char at[GOLDEN_PLACE_NBYTES];
    if (!json_is_object(object))
        return golden_refuse(r, place, "expected an object");
    golden_warn_unknown(r, object, place, "position logsumexp top logits");

    int64_t position = 0;
    json_t *top, *logits;
    if (!golden_get_integer(r, object, place, "position", 0, (int64_t)c->n_tokens - 1, &position) ||
        !golden_get_number(r, object, place, "logsumexp", -INFINITY, false, &p->logsumexp) ||
        !golden_get(r, object, place, "top", JSON_ARRAY, true, &top) ||
        !golden_get(r, object, place, "logits", JSON_ARRAY, true, &logits))
        return false;
    p->position = (size_t)position;
    if (top && logits)
        return golden_refuse(r, place, "both 'top' and 'logits' found, expected one of them");
    if (!top && !logits)
        return golden_refuse(r, place, "neither 'top' nor 'logits' found, expected one of them");
    if (top)
        return read_top(r, top, place, p);

    p->n = json_array_size(logits);
    if (p->n == 0)
        return golden_refuse(r, place, "empty 'logits' found, expected one for each token id");
    p->logits = calloc(p->n, sizeof *p->logits);
    if (!p->logits)
        return no_memory(r);
    for (size_t i = 0; i < p->n; i++) {
        snprintf(at, sizeof at, "%.100s.logits[%zu]", place, i);
        if (!golden_number(r, json_array_get(logits, i), at, &p->logits[i]))
            return false;
    }
    return true;
}

/* ---- One residual entry ----------------------------------------------------- */

static bool read_residual(const struct golden_reader *r, const json_t *object, const char *place,
                          const struct golden_case *c, struct golden_residual *out)
{
    if (!json_is_object(object))
        return golden_refuse(r, place, "expected an object");
    golden_warn_unknown(r, object, place, "layer branch position norm projections");

    char at[GOLDEN_PLACE_NBYTES];
    int64_t layer = 0, position = 0;
    double norm = 0;
    json_t *branch, *projections;
    if (!golden_get_integer(r, object, place, "layer", -1, RML_MAX_LAYERS, &layer) ||
        !golden_get(r, object, place, "branch", JSON_STRING, false, &branch) ||
        !golden_get_integer(r, object, place, "position", 0, (int64_t)c->n_tokens - 1, &position) ||
        !golden_get_number(r, object, place, "norm", 0, false, &norm) ||
        !golden_get(r, object, place, "projections", JSON_ARRAY, false, &projections))
        return false;

    golden_place(at, place, "branch");
    int b = RML_BRANCH_EMBEDDING;
    while (strcmp(json_string_value(branch), rml_branch_name((enum rml_branch)b)) != 0)
        if (++b > RML_BRANCH_OUTPUT)
            return golden_refuse(r, at,
                                 "'%.40s' found, expected embedding, attention, feed_forward "
                                 "or output",
                                 json_string_value(branch));
    out->layer = (int)layer;
    out->branch = (enum rml_branch)b;
    golden_place(at, place, "layer");
    if ((layer < 0) != (out->branch == RML_BRANCH_EMBEDDING))
        return golden_refuse(r, at, "%d found with branch '%s', expected -1 for the embedding only",
                             out->layer, rml_branch_name(out->branch));
    out->position = (size_t)position;
    out->norm = (float)norm;

    golden_place(at, place, "projections");
    if (json_array_size(projections) != GOLDEN_N_PROJECTIONS)
        return golden_refuse(r, at, "%zu numbers found, expected %d", json_array_size(projections),
                             GOLDEN_N_PROJECTIONS);
    for (size_t k = 0; k < GOLDEN_N_PROJECTIONS; k++) {
        double value = 0;
        if (!golden_number(r, json_array_get(projections, k), at, &value))
            return false;
        out->projections[k] = (float)value;
        if (!isfinite(out->projections[k]))
            return golden_refuse(r, at, "%g found, expected a number that f32 can hold", value);
    }
    return isfinite(out->norm) ||
           golden_refuse(r, place, "norm %g found, expected a number that f32 can hold", norm);
}

static bool read_residuals(const struct golden_reader *r, const json_t *array, const char *place,
                           struct golden_case *c)
{
    size_t n = json_array_size(array);
    c->residual = calloc(n + 1, sizeof *c->residual);
    if (!c->residual)
        return no_memory(r);
    for (size_t i = 0; i < n; i++) {
        char at[GOLDEN_PLACE_NBYTES];
        snprintf(at, sizeof at, "%.100s.residual[%zu]", place, i);
        if (!read_residual(r, json_array_get(array, i), at, c, &c->residual[i]))
            return false;
    }
    c->n_residual = n;
    qsort(c->residual, n, sizeof *c->residual, golden_residual_order);
    for (size_t i = 1; i < n; i++)
        if (golden_residual_order(&c->residual[i - 1], &c->residual[i]) == 0)
            return golden_refuse(r, place, "residual of layer %d, %s, position %zu found twice",
                                 c->residual[i].layer, rml_branch_name(c->residual[i].branch),
                                 c->residual[i].position);
    return true;
}

/* ---- One case ---------------------------------------------------------------- */

bool golden_case_has_text(const struct golden_case *c)
{
    return c->source.text || c->source.conversation.n > 0;
}

static bool read_messages(const struct golden_reader *r, json_t *messages, const char *place,
                          struct rml_conversation *out)
{
    struct rml_error inner = RML_ERROR_INIT;
    return rml_conversation_from_json(out, messages, NULL, &inner) ||
           rmli_fail(r->err, inner.code, r->file, -1, "%s.%s", place, inner.message);
}

static bool read_chat_format(const struct golden_reader *r, const json_t *name, const char *place,
                             char **out)
{
    char at[GOLDEN_PLACE_NBYTES];
    golden_place(at, place, "chat_format");
    const char *text = json_string_value(name);
    if (strlen(text) != json_string_length(name) || !rml_chat_format_by_name(text))
        return golden_refuse(r, at, "'%.40s' found, which is no chat format that is known", text);
    *out = strdup(text);
    return *out || no_memory(r);
}

/* Whether the tokens are the ids of this is for golden_text.h to say. */
static bool read_source(const struct golden_reader *r, const json_t *object, const char *place,
                        struct golden_source *source)
{
    json_t *text, *messages, *format, *add_special;
    if (!golden_get(r, object, place, "text", JSON_STRING, true, &text) ||
        !golden_get(r, object, place, "add_special", JSON_TRUE, true, &add_special) ||
        !golden_get(r, object, place, "messages", JSON_ARRAY, true, &messages) ||
        !golden_get(r, object, place, "chat_format", JSON_STRING, true, &format))
        return false;
    if (text && messages)
        return golden_refuse(r, place, "both 'text' and 'messages' found, expected one of them");
    if (format && !messages)
        return golden_refuse(r, place, "'chat_format' found, expected 'messages' beside it");
    source->add_special = !add_special || json_is_true(add_special);
    if (text) {
        source->text_nbytes = json_string_length(text);
        source->text = malloc(source->text_nbytes + 1);
        if (!source->text)
            return no_memory(r);
        memcpy(source->text, json_string_value(text), source->text_nbytes + 1);
    }
    return (!messages || read_messages(r, messages, place, &source->conversation)) &&
           (!format || read_chat_format(r, format, place, &source->chat_format));
}

static bool read_case(const struct golden_reader *r, const json_t *object, const char *place,
                      struct golden_case *c)
{
    c->greedy_margin = -1;
    if (!json_is_object(object))
        return golden_refuse(r, place, "expected an object");
    golden_warn_unknown(
        r, object, place,
        "name text add_special messages chat_format tokens positions greedy greedy_margin "
        "residual note");

    char at[GOLDEN_PLACE_NBYTES];
    json_t *positions, *residual;
    if (!golden_get_name(r, object, place, "name", false, &c->name) ||
        !read_source(r, object, place, &c->source) ||
        !golden_get_ids(r, object, place, "tokens", false, &c->tokens, &c->n_tokens) ||
        !golden_get(r, object, place, "positions", JSON_ARRAY, false, &positions) ||
        !golden_get_ids(r, object, place, "greedy", true, &c->greedy, &c->n_greedy) ||
        !golden_get_number(r, object, place, "greedy_margin", 0, true, &c->greedy_margin) ||
        !golden_get(r, object, place, "residual", JSON_ARRAY, true, &residual))
        return false;
    if (c->n_tokens == 0) {
        golden_place(at, place, "tokens");
        return golden_refuse(r, at, "no tokens found, expected at least one");
    }

    size_t n = json_array_size(positions);
    c->positions = calloc(n + 1, sizeof *c->positions);
    if (!c->positions)
        return no_memory(r);
    c->n_positions = n;
    for (size_t i = 0; i < n; i++) {
        snprintf(at, sizeof at, "%.100s.positions[%zu]", place, i);
        if (!read_position(r, json_array_get(positions, i), at, c, i))
            return false;
    }
    qsort(c->positions, n, sizeof *c->positions, compare_positions);
    for (size_t i = 1; i < n; i++)
        if (c->positions[i].position == c->positions[i - 1].position)
            return golden_refuse(r, place, "position %zu found twice", c->positions[i].position);
    if (residual && !read_residuals(r, residual, place, c))
        return false;
    if (c->n_positions == 0 && c->n_greedy == 0 && c->n_residual == 0)
        return golden_refuse(r, place,
                             "nothing to compare found, expected positions, greedy or residual");
    return true;
}

static bool read_cases(const struct golden_reader *r, const json_t *root, struct golden *golden)
{
    json_t *cases;
    if (!golden_get(r, root, "", "cases", JSON_ARRAY, false, &cases))
        return false;
    size_t n = json_array_size(cases);
    if (n == 0)
        return golden_refuse(r, "cases", "no cases found, expected at least one");
    golden->cases = calloc(n, sizeof *golden->cases);
    if (!golden->cases)
        return no_memory(r);
    golden->n_cases = n;
    for (size_t i = 0; i < n; i++) {
        char at[GOLDEN_PLACE_NBYTES];
        snprintf(at, sizeof at, "cases[%zu]", i);
        if (!read_case(r, json_array_get(cases, i), at, &golden->cases[i]))
            return false;
        for (size_t j = 0; j < i; j++)
            if (strcmp(golden->cases[j].name, golden->cases[i].name) == 0)
                return golden_refuse(r, at, "name '%.60s' found twice, in cases[%zu] too",
                                     golden->cases[i].name, j);
    }
    return true;
}

/* ---- The head of the file ------------------------------------------------------ */

static bool read_model(const struct golden_reader *r, const json_t *root, struct golden *golden)
{
    json_t *model, *sha256;
    if (!golden_get(r, root, "", "model", JSON_OBJECT, true, &model))
        return false;
    if (!model)
        return true;
    golden_warn_unknown(r, model, "model", "content_sha256 arch file");
    if (!golden_get(r, model, "model", "content_sha256", JSON_STRING, true, &sha256) ||
        !golden_get_name(r, model, "model", "arch", true, &golden->model_arch))
        return false;
    if (!sha256)
        return true;
    const char *hex = json_string_value(sha256);
    if (strlen(hex) != 64 || strspn(hex, "0123456789abcdef") != 64)
        return golden_refuse(r, "model.content_sha256",
                             "'%.70s' found, expected 64 hexadecimal digits in lower case", hex);
    strcpy(golden->model_sha256, hex);
    return true;
}

static bool read_head(const struct golden_reader *r, const json_t *root, struct golden *golden)
{
    json_t *source, *arithmetic, *kv, *tolerance;
    golden_warn_unknown(r, root, "",
                        "format version name source model arithmetic kv tolerance cases note");
    if (!golden_get_name(r, root, "", "name", false, &golden->name) ||
        !golden_get(r, root, "", "source", JSON_OBJECT, false, &source) ||
        !golden_get_name(r, source, "source", "engine", false, &golden->source_engine) ||
        !golden_get_name(r, source, "source", "version", false, &golden->source_version) ||
        !golden_get_name(r, source, "source", "dtype", false, &golden->source_dtype) ||
        !read_model(r, root, golden) ||
        !golden_get(r, root, "", "arithmetic", JSON_STRING, false, &arithmetic) ||
        !golden_get(r, root, "", "kv", JSON_STRING, false, &kv) ||
        !golden_get(r, root, "", "tolerance", JSON_OBJECT, false, &tolerance))
        return false;
    if (!rml_arithmetic_parse(json_string_value(arithmetic), &golden->arithmetic))
        return golden_refuse(r, "arithmetic", "'%.40s' found, expected f32 or i8",
                             json_string_value(arithmetic));
    if (!cli_parse_kv(json_string_value(kv), &golden->k_dtype, &golden->v_dtype))
        return golden_refuse(r, "kv", "'%.40s' found, expected f32, f16 or i8, or two as K:V",
                             json_string_value(kv));
    golden->residual_rel = GOLDEN_RESIDUAL_REL;
    return golden_refuse_unknown(r, tolerance, "tolerance",
                                 "logit_abs logsumexp_abs residual_rel") &&
           golden_get_number(r, tolerance, "tolerance", "logit_abs", 0, false,
                             &golden->logit_abs) &&
           golden_get_number(r, tolerance, "tolerance", "logsumexp_abs", 0, false,
                             &golden->logsumexp_abs) &&
           golden_get_number(r, tolerance, "tolerance", "residual_rel", 0, true,
                             &golden->residual_rel);
}

struct golden *golden_read(const char *path, struct rml_error *err)
{
    struct golden_reader r = {.file = golden_display_name(path), .err = err};
    struct golden *golden = calloc(1, sizeof *golden);
    if (!golden || !(golden->path = strdup(r.file))) {
        no_memory(&r);
        golden_destroy(golden);
        return NULL;
    }
    json_t *root = golden_load_json(&r, path, golden->sha256);
    bool ok = root && golden_check_format(&r, root, "rml-golden") && read_head(&r, root, golden) &&
              read_cases(&r, root, golden);
    json_decref(root);
    if (!ok) {
        golden_destroy(golden);
        return NULL;
    }
    return golden;
}
