/*
 * From scores of windows to a perplexity.
 */
#include "eval/perplexity_result.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/exact_sum.h"
#include "eval/python_text.h"
#include "eval/standard_errors.h"
#include "tools/cli/json_out.h"
#include "tools/cli/report.h"

/* ---- Sums ----------------------------------------------------------------------------------- */

/* At or behind document d: windows are taken in order. */
static size_t document_of(const struct windows *windows, size_t window, size_t d)
{
    while (window >= windows->docs[d].first_window + windows->docs[d].n_windows)
        d++;
    return d;
}

/* The text of a request's ids from the first on, without special ones, which are no text. */
static char *request_text(const struct eval_engine *engine, const struct eval_request *request,
                          size_t *nbytes, size_t *scored_begin)
{
    char *text = NULL;
    for (int pass = 0; pass < 2; pass++) { /* measure, then copy */
        *nbytes = *scored_begin = 0;
        for (size_t i = 0; i < request->n_tokens; i++) {
            struct rml_token_info info;
            if (i == request->first_target)
                *scored_begin = *nbytes;
            if (!rml_tokenizer_token(engine->tokenizer, request->tokens[i], &info) ||
                info.kind == RML_TOKEN_SPECIAL || info.nbytes == 0)
                continue;
            if (text)
                memcpy(text + *nbytes, info.bytes, info.nbytes);
            *nbytes += info.nbytes;
        }
        if (!text && !(text = malloc(*nbytes + 1)))
            return NULL;
    }
    return text;
}

/* llama.cpp's protocol relates its sum to the text of the scored ids. A word counts where it
 * begins, so that windows that cut one share none. */
static bool add_scored_text(struct document_result *doc, const struct eval_engine *engine,
                            const struct eval_request *request, struct rml_error *err)
{
    size_t nbytes, begin;
    char *text = request_text(engine, request, &nbytes, &begin);
    if (!text)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the text of a window");
    doc->n_words += (double)python_n_words_begun(text, nbytes, begin);
    doc->n_bytes += (double)(nbytes - begin);
    free(text);
    return true;
}

/* `total` of all windows so far, `of_document` of this one's. */
static void add_window(struct perplexity_result *result, const struct eval_request *request,
                       const struct eval_score *score, size_t window, size_t document,
                       struct exact_sum *total, struct exact_sum *of_document)
{
    struct window_result *w = &result->windows[result->n_windows++];
    *w = (struct window_result){
        .window = window,
        .document = document,
        .n_scored = eval_n_targets(request),
        .nll_sum = -eval_loglik(request, score),
    };
    exact_sum_add(of_document, w->nll_sum);
    exact_sum_add(total, w->nll_sum);
    result->docs[document].n_scored += w->n_scored;
    result->docs[document].nll_sum = exact_sum_value(of_document);
    result->n_scored += w->n_scored;
    result->nll_sum = exact_sum_value(total);
    w->running_ppl = exp(result->nll_sum / (double)result->n_scored);
}

/* ---- Figures ---------------------------------------------------------------------------------- */

/* sqrt((E[x^2] - mean^2) / (n - 1)), llama.cpp's, from squared deviations. */
static double iid_standard_error(const struct perplexity_result *result,
                                 const struct windows *windows, const struct eval_scores *scores)
{
    if (result->n_scored < 2)
        return NAN;
    double n = (double)result->n_scored, mean = result->nll_sum / n;
    struct exact_sum squares = {0};
    for (size_t i = 0; i < result->n_windows; i++) {
        size_t window = result->windows[i].window;
        const struct eval_score *score = &scores->scores[window];
        for (size_t t = 0; t < eval_n_targets(&windows->requests[window]); t++) {
            double deviation = -score->logprobs[t] - mean;
            exact_sum_add(&squares, deviation * deviation);
        }
    }
    return sqrt(exact_sum_value(&squares) / n / (n - 1));
}

static bool compute_errors(struct perplexity_result *result, const struct windows *windows,
                           const struct eval_scores *scores, struct rml_error *err)
{
    size_t n_docs = 0;
    for (size_t d = 0; d < windows->n_docs; d++)
        n_docs += result->docs[d].n_scored > 0;
    bool by_docs = n_docs > 1;
    size_t n = by_docs ? windows->n_docs : result->n_windows;
    struct block *blocks = calloc(2 * n + 1, sizeof *blocks), *bytes = blocks + n;
    if (!blocks)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %zu blocks", n);
    for (size_t i = 0; i < n; i++) {
        double sum = by_docs ? result->docs[i].nll_sum : result->windows[i].nll_sum;
        size_t size = by_docs ? result->docs[i].n_scored : result->windows[i].n_scored;
        blocks[i] = (struct block){.sum = sum, .size = (double)size};
        if (by_docs)
            bytes[i] = (struct block){.sum = sum, .size = result->docs[i].n_bytes};
    }
    result->ppl_stderr = result->ppl * block_standard_error(blocks, n);
    result->ppl_stderr_iid = result->ppl * iid_standard_error(result, windows, scores);
    result->bits_per_byte_stderr = by_docs ? block_standard_error(bytes, n) / M_LN2 : NAN;
    free(blocks);
    return true;
}

static void relate(struct perplexity_result *result, size_t n_docs)
{
    double n_words = 0, n_bytes = 0;
    for (size_t d = 0; d < n_docs; d++) {
        if (result->docs[d].n_scored == 0)
            continue;
        n_words += result->docs[d].n_words;
        n_bytes += result->docs[d].n_bytes;
    }
    result->word_perplexity = n_words > 0 ? exp(result->nll_sum / n_words) : NAN;
    result->byte_perplexity = n_bytes > 0 ? exp(result->nll_sum / n_bytes) : NAN;
    result->bits_per_byte = n_bytes > 0 ? result->nll_sum / n_bytes / M_LN2 : NAN;
}

static bool count_text(struct perplexity_result *result, const struct eval_engine *engine,
                       const struct documents *documents, const struct windows *windows,
                       const struct window_settings *settings, struct rml_error *err)
{
    if (settings->protocol == PROTOCOL_LLAMA_CPP) {
        for (size_t i = 0; i < result->n_windows; i++) {
            const struct window_result *w = &result->windows[i];
            if (!add_scored_text(&result->docs[w->document], engine, &windows->requests[w->window],
                                 err))
                return false;
        }
        return true;
    }
    for (size_t d = 0; d < windows->n_docs; d++) {
        const struct document *doc = &documents->docs[d];
        bool whole = result->docs[d].is_whole;
        result->docs[d].n_words = whole ? (double)python_n_words(doc->text, doc->nbytes) : NAN;
        result->docs[d].n_bytes = whole ? (double)doc->nbytes : NAN;
    }
    return true;
}

bool perplexity_result_init(struct perplexity_result *result, const struct eval_engine *engine,
                            const struct documents *documents, const struct windows *windows,
                            const struct window_settings *settings, const size_t *chosen,
                            size_t n_chosen, const struct eval_scores *scores,
                            struct rml_error *err)
{
    *result = (struct perplexity_result){0};
    result->windows = calloc(n_chosen + 1, sizeof *result->windows);
    result->docs = calloc(windows->n_docs + 1, sizeof *result->docs);
    size_t *n_seen = calloc(windows->n_docs + 1, sizeof *n_seen);
    struct exact_sum total = {0}, of_document = {0};
    bool ok = result->windows && result->docs && n_seen;
    if (!ok)
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %zu windows", n_chosen);
    for (size_t i = 0, d = 0; ok && i < n_chosen; i++) {
        if (i == 0 || chosen[i] >= windows->docs[d].first_window + windows->docs[d].n_windows) {
            d = document_of(windows, chosen[i], d);
            of_document = (struct exact_sum){0};
        }
        add_window(result, &windows->requests[chosen[i]], &scores->scores[chosen[i]], chosen[i], d,
                   &total, &of_document);
        n_seen[d]++;
    }
    for (size_t d = 0; ok && d < windows->n_docs; d++) {
        result->docs[d].is_whole = n_seen[d] == windows->docs[d].n_windows;
        result->n_tokens += windows->docs[d].n_tokens;
        result->n_dropped += windows->docs[d].n_dropped;
    }
    free(n_seen);
    ok = ok && count_text(result, engine, documents, windows, settings, err);
    if (ok) {
        result->ppl = exp(result->nll_sum / (double)result->n_scored);
        relate(result, windows->n_docs);
        ok = compute_errors(result, windows, scores, err);
    }
    if (!ok)
        perplexity_result_release(result);
    return ok;
}

void perplexity_result_release(struct perplexity_result *result)
{
    free(result->windows);
    free(result->docs);
    *result = (struct perplexity_result){0};
}

/* ---- Output ------------------------------------------------------------------------------------ */

/* A key whose figure is not defined is absent. */
static void set_defined(json_t *object, const char *key, double value)
{
    if (!isnan(value))
        json_object_set_new(object, key, cli_json_real(value));
}

static json_t *documents_json(const struct perplexity_result *result,
                              const struct documents *documents, const struct windows *windows)
{
    json_t *array = json_array();
    for (size_t d = 0; d < windows->n_docs; d++)
        json_array_append_new(array,
                              json_pack("{so sI sI so}", "id", cli_json_text(documents->docs[d].id),
                                        "n_tokens", (json_int_t)windows->docs[d].n_tokens,
                                        "n_scored", (json_int_t)result->docs[d].n_scored, "nll_sum",
                                        cli_json_real(result->docs[d].nll_sum)));
    return array;
}

static json_t *windows_json(const struct perplexity_result *result,
                            const struct documents *documents, const struct windows *windows)
{
    json_t *array = json_array();
    for (size_t i = 0; i < result->n_windows; i++) {
        const struct window_result *w = &result->windows[i];
        json_array_append_new(
            array, json_pack("{so sI sI so so}", "document",
                             cli_json_text(documents->docs[w->document].id), "window",
                             (json_int_t)windows->requests[w->window].choice_idx, "n_scored",
                             (json_int_t)w->n_scored, "nll_sum", cli_json_real(w->nll_sum),
                             "running_ppl", cli_json_real(w->running_ppl)));
    }
    return array;
}

json_t *perplexity_json(const struct perplexity_result *result, const struct documents *documents,
                        const struct windows *windows, const struct window_settings *settings,
                        json_t *run_settings)
{
    bool by_token = settings->protocol != PROTOCOL_LM_EVAL;
    json_t *json = json_pack("{ss}", "protocol", protocol_name(settings->protocol));
    if (by_token)
        json_object_set_new(json, "n_ctx", json_integer((json_int_t)settings->n_ctx));
    if (settings->protocol == PROTOCOL_HF_STRIDE)
        json_object_set_new(json, "stride", json_integer((json_int_t)settings->stride));
    json_object_set_new(json, "n_tokens", json_integer((json_int_t)result->n_tokens));
    json_object_set_new(json, "n_scored", json_integer((json_int_t)result->n_scored));
    if (settings->protocol == PROTOCOL_LLAMA_CPP)
        json_object_set_new(json, "n_dropped", json_integer((json_int_t)result->n_dropped));
    json_object_set_new(json, "nll_sum", cli_json_real(result->nll_sum));
    if (by_token) {
        json_object_set_new(json, "ppl", cli_json_real(result->ppl));
        json_object_set_new(json, "ppl_stderr", cli_json_real(result->ppl_stderr));
        json_object_set_new(json, "ppl_stderr_iid", cli_json_real(result->ppl_stderr_iid));
    }
    set_defined(json, "word_perplexity", result->word_perplexity);
    set_defined(json, "byte_perplexity", result->byte_perplexity);
    set_defined(json, "bits_per_byte", result->bits_per_byte);
    if (!isnan(result->bits_per_byte))
        json_object_set_new(json, "bits_per_byte_stderr",
                            cli_json_real(result->bits_per_byte_stderr));
    json_object_set_new(json, "documents", documents_json(result, documents, windows));
    json_object_set_new(json, "windows", windows_json(result, documents, windows));
    json_object_set_new(json, "settings", run_settings);
    return json;
}

static void print_figure(const char *name, double value, double standard_error)
{
    if (isnan(value))
        return;
    printf("%-18s %.6g", name, value);
    if (!isnan(standard_error))
        printf(" +- %.3g", standard_error);
    putchar('\n');
}

void perplexity_print(const struct perplexity_result *result, const struct documents *documents,
                      const struct windows *windows, const struct window_settings *settings)
{
    printf("%-18s %s, context %zu", "protocol", protocol_name(settings->protocol), settings->n_ctx);
    if (settings->protocol == PROTOCOL_HF_STRIDE)
        printf(", stride %zu", settings->stride);
    printf("\n%-18s %zu, scored %zu", "tokens", result->n_tokens, result->n_scored);
    if (result->n_windows < windows->n)
        printf(" in %zu of %zu window%s", result->n_windows, windows->n, cli_plural(windows->n));
    if (settings->protocol == PROTOCOL_LLAMA_CPP)
        printf(", dropped at the ends of documents %zu", result->n_dropped);
    putchar('\n');
    if (settings->protocol != PROTOCOL_LM_EVAL) {
        print_figure("perplexity", result->ppl, result->ppl_stderr);
        if (!isnan(result->ppl_stderr_iid))
            printf("%-18s +- %.3g as if tokens were independent\n", "", result->ppl_stderr_iid);
    }
    print_figure("per word", result->word_perplexity, NAN);
    print_figure("per byte", result->byte_perplexity, NAN);
    print_figure("bits per byte", result->bits_per_byte, result->bits_per_byte_stderr);
    for (size_t d = 0; d < windows->n_docs && windows->n_docs > 1 && windows->n_docs <= 20; d++)
        printf("  %s: tokens scored %zu, nll %.6f\n", documents->docs[d].id,
               result->docs[d].n_scored, result->docs[d].nll_sum);
}
