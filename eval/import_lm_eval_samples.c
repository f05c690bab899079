/*
 * Items of lm-eval: samples_TASK_DATE.jsonl as lm-eval 0.4 writes them with --log_samples.
 *
 *     {"doc_id": 0, "doc": {...}, "target": "1",
 *      "arguments": {"gen_args_0": {"arg_0": CONTEXT, "arg_1": CONTINUATION}, ...},
 *      "filtered_resps": [["-12.5", "False"], ...], "filter": "none",
 *      "metrics": ["acc", "acc_norm"], "acc": 1.0, "acc_norm": 0.0, ...}
 *
 * Numbers in responses are strings. A rolling item has one response, and figures that are pairs
 * [log-likelihood, words or bytes]. With acc_mutual_info the choices alone follow the choices.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/import_lm_eval.h"
#include "eval/python_text.h"
#include "eval/request_key.h"
#include "tools/cli/parse.h"

/* ---- Responses ------------------------------------------------------------------------------ */

static bool read_number(const json_t *value, double *x)
{
    if (json_is_number(value)) {
        *x = json_number_value(value);
        return isfinite(*x);
    }
    return json_is_string(value) && cli_parse_f64(json_string_value(value), -1e300, 1e300, x);
}

static bool read_truth(const json_t *value, int *truth)
{
    const char *text = json_string_value(value);
    if (json_is_boolean(value))
        *truth = json_is_true(value);
    else if (text && (strcmp(text, "True") == 0 || strcmp(text, "False") == 0))
        *truth = strcmp(text, "True") == 0;
    else
        return false;
    return true;
}

/* Argument `arg` of request i; NULL when there is no such text. */
static const char *argument(const json_t *sample, size_t i, const char *arg)
{
    char key[32];
    snprintf(key, sizeof key, "gen_args_%zu", i);
    const json_t *request = json_object_get(json_object_get(sample, "arguments"), key);
    return json_string_value(json_object_get(request, arg));
}

/* Log-likelihoods of continuations: pairs of a number and whether it is greedy. */
static bool are_logliks(const json_t *responses)
{
    size_t i;
    json_t *response;
    int truth;
    bool are = json_array_size(responses) > 0;
    json_array_foreach(responses, i, response) are =
        are && json_array_size(response) == 2 && read_truth(json_array_get(response, 1), &truth);
    return are;
}

struct sample {
    const struct text_file *file;
    const struct text_line *line;
    const json_t *json, *responses;
    bool has_logliks;
    size_t n_choices; /* of a multiple choice, else 0 */
};

static bool add_items(struct lm_eval_import *import, const struct sample *sample, const char *task,
                      const char *doc_id, struct rml_error *err)
{
    size_t i;
    json_t *response;
    json_array_foreach(sample->responses, i, response)
    {
        struct store_eval_item *item =
            lm_eval_import_grow((void **)&import->items, &import->n_items, sizeof *item, err);
        const char *context = argument(sample->json, i, "arg_0");
        const char *continuation = argument(sample->json, i, "arg_1");
        /* No score of ours is ever looked for under it: what it has is the text that was asked. */
        char *text = lm_eval_import_text(import, err, "lm-eval\n%s\n%s", context ? context : "",
                                         continuation ? continuation : "");
        char *key = text ? lm_eval_import_keep(import, calloc(1, REQUEST_KEY_NBYTES), err) : NULL;
        if (!item || !key || !eval_sha256(text, strlen(text), key, err))
            return false;
        *item = (struct store_eval_item){.task = task,
                                         .doc_id = doc_id,
                                         .choice_idx = (int64_t)i,
                                         .request_sha256 = key,
                                         .n_truncated = -1,
                                         .is_greedy = -1,
                                         .wall_ns = -1};
        if (!read_number(json_array_get(response, 0), &item->loglik))
            return text_fail(sample->file, sample->line->number, err,
                             "response %zu has no finite log-likelihood, expected a number", i);
        read_truth(json_array_get(response, 1), &item->is_greedy);
    }
    return true;
}

/* ---- Figures of an item ---------------------------------------------------------------------- */

static bool add_figure(struct import_figures *figures, const char *name, double value,
                       struct rml_error *err)
{
    for (size_t i = 0; i < figures->n; i++)
        if (strcmp(figures->names[i], name) == 0)
            return true;
    size_t n_values = figures->n;
    const char **names =
        lm_eval_import_grow((void **)&figures->names, &figures->n, sizeof *figures->names, err);
    double *values = lm_eval_import_grow((void **)&figures->values, &n_values, sizeof *values, err);
    if (!names || !values) {
        figures->n -= names != NULL;
        return false;
    }
    *names = name;
    *values = value;
    return true;
}

/* Of a rolling item: [log-likelihood, words] and [log-likelihood, bytes]. */
static bool add_rolling(struct import_figures *figures, const char *name, const json_t *pair,
                        struct rml_error *err)
{
    bool words = strcmp(name, "word_perplexity") == 0;
    double loglik, size;
    if ((!words && strcmp(name, "byte_perplexity") != 0 && strcmp(name, "bits_per_byte") != 0) ||
        !read_number(json_array_get(pair, 0), &loglik) ||
        !read_number(json_array_get(pair, 1), &size))
        return true;
    return add_figure(figures, "nll_sum", -loglik, err) &&
           add_figure(figures, words ? "n_words" : "n_bytes", size, err);
}

/* `filter` NULL: figures keep their names. Those that are no numbers are left out. */
static bool add_figures(struct lm_eval_import *import, struct import_figures *figures,
                        const struct sample *sample, const char *filter, struct rml_error *err)
{
    size_t i;
    json_t *entry;
    size_t n_before = figures->n;
    json_array_foreach(json_object_get(sample->json, "metrics"), i, entry)
    {
        const char *key = json_string_value(entry), *name = key;
        const json_t *value = key ? json_object_get(sample->json, key) : NULL;
        if (key && filter && !(name = lm_eval_import_text(import, err, "%s,%s", key, filter)))
            return false;
        bool ok = true;
        /* Of one continuation it is the log-likelihood, which a perplexity is made from. */
        if (key && !filter && sample->has_logliks && strcmp(key, "perplexity") == 0)
            name = "loglik";
        if (json_is_number(value))
            ok = add_figure(figures, name, json_number_value(value), err);
        else if (json_is_boolean(value))
            ok = add_figure(figures, name, json_is_true(value), err);
        else if (json_array_size(value) == 2 && !filter)
            ok = add_rolling(figures, key, value, err);
        if (!ok)
            return false;
    }
    return figures->n > n_before ||
           text_fail(sample->file, sample->line->number, err,
                     "no figure that is a number found in \"metrics\", expected one such as acc");
}

/* The first of the greatest. */
static bool add_pick(struct import_figures *figures, const struct sample *sample,
                     struct rml_error *err)
{
    double best = -INFINITY, x = 0;
    size_t pick = 0;
    for (size_t i = 0; i < sample->n_choices; i++)
        if (read_number(json_array_get(json_array_get(sample->responses, i), 0), &x) && x > best) {
            best = x;
            pick = i;
        }
    return add_figure(figures, "pick", (double)pick, err);
}

/* ---- Samples -------------------------------------------------------------------------------------- */

/* The choice that a text is, without the delimiter before it; n_choices: none. */
static size_t find_choice(const struct sample *sample, const char *text)
{
    size_t i;
    for (i = 0; i < sample->n_choices; i++) {
        const char *choice = argument(sample->json, i, "arg_1");
        if (choice &&
            (strcmp(choice, text) == 0 ||
             strcmp(choice + python_leading_space_nbytes(choice, strlen(choice)), text) == 0))
            break;
    }
    return i;
}

/* An index that no choice has would count as wrong whatever the model picks. */
static bool check_gold(const struct sample *sample, const json_t *gold, struct rml_error *err)
{
    json_int_t index = json_integer_value(gold);
    return !json_is_integer(gold) || (index >= 0 && (size_t)index < sample->n_choices) ||
           text_fail(sample->file, sample->line->number, err,
                     "target %lld found, expected the index of one of %zu choices",
                     (long long)index, sample->n_choices);
}

static bool check_golds(const struct sample *sample, const json_t *gold, struct rml_error *err)
{
    bool ok = check_gold(sample, gold, err);
    for (size_t i = 0; ok && i < json_array_size(gold); i++)
        ok = check_gold(sample, json_array_get(gold, i), err);
    return ok;
}

/* The right answer as JSON, in the form that rml-eval has it in: of a multiple choice an index or
 * an array of them, of a reply the text. NULL without an error: not known. */
static bool read_gold(struct lm_eval_import *import, const struct sample *sample, const char **gold,
                      struct rml_error *err)
{
    const char *target = json_string_value(json_object_get(sample->json, "target"));
    *gold = NULL;
    if (!target || (sample->n_choices == 0 && (sample->has_logliks || target[0] == '[')))
        return true;
    json_t *value = sample->n_choices ? json_loads(target, JSON_DECODE_ANY, NULL) : NULL;
    size_t choice = find_choice(sample, target);
    if (sample->n_choices && choice < sample->n_choices && !json_is_integer(value)) {
        json_decref(value);
        value = json_integer((json_int_t)choice);
    } else if (!json_is_integer(value) && !json_is_array(value)) {
        json_decref(value);
        value = json_string(target);
    }
    if (sample->n_choices && !check_golds(sample, value, err)) {
        json_decref(value);
        return false;
    }
    *gold = lm_eval_import_keep(
        import, value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL, err);
    json_decref(value);
    return *gold != NULL;
}

static bool check_sample(struct sample *sample, struct rml_error *err)
{
    const json_t *id = json_object_get(sample->json, "doc_id");
    sample->responses = json_object_get(sample->json, "filtered_resps");
    if (!json_is_integer(id) || json_integer_value(id) < 0)
        return text_fail(sample->file, sample->line->number, err,
                         "no field \"doc_id\" with a number found, expected a line of lm-eval's "
                         "--log_samples");
    const json_t *metrics = json_object_get(sample->json, "metrics");
    if (!json_is_array(sample->responses) || !json_is_array(metrics))
        return text_fail(sample->file, sample->line->number, err,
                         "no array \"%s\" found, expected one",
                         json_is_array(sample->responses) ? "metrics" : "filtered_resps");
    size_t n = json_array_size(sample->responses), i;
    sample->has_logliks = are_logliks(sample->responses);
    if (n == 0)
        return text_fail(sample->file, sample->line->number, err,
                         "array \"filtered_resps\" is empty, expected a response");
    /* Runs are compared by the texts that were asked. */
    for (i = 0; i < (sample->has_logliks ? n : 1); i++)
        if (!argument(sample->json, i, "arg_0"))
            return text_fail(sample->file, sample->line->number, err,
                             "no text \"arg_0\" of \"gen_args_%zu\" in \"arguments\" found, "
                             "expected that of each response",
                             i);
    if (!json_object_get(sample->json, "target"))
        return text_fail(sample->file, sample->line->number, err,
                         "no field \"target\" found, expected the right answer");
    json_t *metric;
    bool has_mutual_info = false;
    json_array_foreach(metrics, i, metric) has_mutual_info |=
        json_is_string(metric) && strcmp(json_string_value(metric), "acc_mutual_info") == 0;
    if (sample->has_logliks && n > 1)
        sample->n_choices = has_mutual_info && n % 2 == 0 ? n / 2 : n;
    return true;
}

/* An item's first line. */
static bool add_doc(struct lm_eval_import *import, const struct sample *sample, const char *task,
                    struct rml_error *err)
{
    json_int_t id = json_integer_value(json_object_get(sample->json, "doc_id"));
    char *doc_id = lm_eval_import_text(import, err, "%" JSON_INTEGER_FORMAT, id);
    size_t n_figures = import->n_docs;
    const char *gold;
    if (!doc_id || !read_gold(import, sample, &gold, err) ||
        !lm_eval_import_grow((void **)&import->figures, &n_figures, sizeof *import->figures, err) ||
        !lm_eval_import_grow((void **)&import->docs, &import->n_docs, sizeof *import->docs, err))
        return false;
    import->docs[import->n_docs - 1] =
        (struct store_eval_doc){.task = task,
                                .doc_id = doc_id,
                                .doc_idx = id,
                                .text = argument(sample->json, 0, "arg_0"),
                                .gold_json = gold};
    struct import_figures *figures = &import->figures[import->n_docs - 1];
    return add_figures(import, figures, sample, NULL, err) &&
           (sample->n_choices == 0 || add_pick(figures, sample, err)) &&
           (!sample->has_logliks || add_items(import, sample, task, doc_id, err));
}

/* The filters of a file and where its items stand, by doc_id. */
struct reading {
    json_t *filters; /* array of names */
    json_t *places;  /* {doc_id: index of docs} */
    json_t *seen;    /* {"doc_id filter": true} */
};

static bool read_sample(struct lm_eval_import *import, struct reading *reading,
                        struct sample *sample, const char *task, struct rml_error *err)
{
    if (!check_sample(sample, err))
        return false;
    json_int_t id = json_integer_value(json_object_get(sample->json, "doc_id"));
    const char *filter = json_string_value(json_object_get(sample->json, "filter"));
    filter = filter ? filter : "none";
    size_t at = 0, n_filters = json_array_size(reading->filters);
    while (at < n_filters &&
           strcmp(json_string_value(json_array_get(reading->filters, at)), filter) != 0)
        at++;
    char *key = lm_eval_import_text(import, err, "%" JSON_INTEGER_FORMAT " %s", id, filter);
    char *doc_id = key ? lm_eval_import_text(import, err, "%" JSON_INTEGER_FORMAT, id) : NULL;
    if (!doc_id ||
        (at == n_filters && json_array_append_new(reading->filters, json_string(filter)) != 0))
        return false;
    if (json_object_get(reading->seen, key))
        return text_fail(sample->file, sample->line->number, err,
                         "doc_id %s found again with filter '%.80s', expected each once", doc_id,
                         filter);
    json_object_set_new_nocheck(reading->seen, key, json_true());
    if (at == 0) {
        json_object_set_new_nocheck(reading->places, doc_id,
                                    json_integer((json_int_t)import->n_docs));
        return add_doc(import, sample, task, err);
    }
    const json_t *place = json_object_get(reading->places, doc_id);
    return place ? add_figures(import, &import->figures[json_integer_value(place)], sample, filter,
                               err)
                 : text_fail(sample->file, sample->line->number, err,
                             "doc_id %s found with filter '%.80s' alone, expected it with the "
                             "first filter before",
                             doc_id, filter);
}

/* The first filter's figures were named before it was known that there are others. */
static bool name_filter(struct lm_eval_import *import, const char *filter, struct rml_error *err)
{
    for (size_t i = 0; i < import->n_docs; i++)
        for (size_t f = 0; f < import->figures[i].n; f++) {
            const char **name = &import->figures[i].names[f];
            if (!strchr(*name, ',') && strcmp(*name, "pick") != 0 &&
                !(*name = lm_eval_import_text(import, err, "%s,%s", *name, filter)))
                return false;
        }
    return true;
}

static bool add_eval(struct lm_eval_import *import, const struct reading *reading, const char *task,
                     struct rml_error *err)
{
    json_t *settings = json_pack("{ss sO}", "engine", "lm-eval", "filters", reading->filters);
    char *text =
        lm_eval_import_keep(import, settings ? json_dumps(settings, JSON_COMPACT) : NULL, err);
    json_decref(settings);
    struct store_eval *eval =
        text ? lm_eval_import_grow((void **)&import->evals, &import->n_evals, sizeof *eval, err)
             : NULL;
    if (!eval)
        return false;
    *eval = (struct store_eval){.task = task,
                                .protocol = "lm-eval",
                                .threads = -1,
                                .numerics_version = -1,
                                .settings_json = text};
    for (size_t i = 0; i < import->n_docs; i++) {
        import->docs[i].metrics = import->figures[i].names;
        import->docs[i].values = import->figures[i].values;
        import->docs[i].n_metrics = import->figures[i].n;
    }
    return true;
}

static bool read_lines(struct lm_eval_import *import, struct reading *reading,
                       const struct text_file *file, const char *task, struct rml_error *err)
{
    struct text_line line = {0};
    while (text_next_line(file, &line)) {
        if (line.nbytes == 0)
            continue;
        json_t *json = text_json_line(file, &line, err);
        if (!json)
            return false;
        if (json_array_append_new(import->documents, json) != 0)
            return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory to import");
        struct sample sample = {.file = file, .line = &line, .json = json};
        if (!read_sample(import, reading, &sample, task, err))
            return false;
    }
    return true;
}

bool lm_eval_read_samples(struct lm_eval_import *import, const struct text_file *file,
                          const char *task, struct rml_error *err)
{
    struct reading reading = {json_array(), json_object(), json_object()};
    bool ok = (reading.filters && reading.places && reading.seen) ||
              rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory to import");
    ok = ok && read_lines(import, &reading, file, task, err) &&
         (json_array_size(reading.filters) < 2 ||
          name_filter(import, json_string_value(json_array_get(reading.filters, 0)), err)) &&
         add_eval(import, &reading, task, err);
    json_decref(reading.filters);
    json_decref(reading.places);
    json_decref(reading.seen);
    return ok;
}
