/*
 * Scores windows and stores what comes of them.
 */
#include "eval/perplexity_score.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/exact_sum.h"

/* ---- Which windows ------------------------------------------------------------------------------ */

bool perplexity_choose(const struct windows *windows, enum protocol protocol,
                       const struct selection *selection, uint64_t seed, size_t **chosen,
                       size_t *n_chosen, struct rml_error *err)
{
    bool by_docs = protocol == PROTOCOL_LM_EVAL;
    size_t *items, n_items, n_all = by_docs ? windows->n_docs : windows->n;
    if (!selection_apply(selection, seed, n_all, &items, &n_items, err))
        return false;
    if (!by_docs) {
        *chosen = items;
        *n_chosen = n_items;
        return true;
    }
    *chosen = calloc(windows->n + 1, sizeof **chosen);
    *n_chosen = 0;
    for (size_t i = 0; *chosen && i < n_items; i++) {
        const struct window_document *doc = &windows->docs[items[i]];
        for (size_t w = 0; w < doc->n_windows; w++)
            (*chosen)[(*n_chosen)++] = doc->first_window + w;
    }
    free(items);
    return *chosen || rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory to choose windows");
}

/* ---- Running value --------------------------------------------------------------------------------- */

struct running_value {
    const struct eval_request *requests; /* [n] those that are scored */
    const struct eval_scores *scores;
    size_t n, n_before;
    struct exact_sum nll_sum;
    size_t n_scored;
};

/* In order of the windows, as far as they are through without a gap. */
static void show_value(void *user, char *text, size_t nbytes)
{
    struct running_value *r = user;
    for (; r->n_before < r->n && r->scores->scores[r->n_before].is_done; r->n_before++) {
        exact_sum_add(&r->nll_sum,
                      -eval_loglik(&r->requests[r->n_before], &r->scores->scores[r->n_before]));
        r->n_scored += eval_n_targets(&r->requests[r->n_before]);
    }
    if (r->n_scored > 0)
        snprintf(text, nbytes, "ppl %.4f", exp(exact_sum_value(&r->nll_sum) / (double)r->n_scored));
}

/* ---- Scoring ------------------------------------------------------------------------------------- */

static bool store_figures(struct eval_run *run, const struct eval_task *task,
                          const struct perplexity_result *r, struct rml_error *err)
{
    const struct {
        const char *name;
        double value, standard_error;
    } figures[] = {
        {"nll_sum", r->nll_sum, NAN},
        {"ppl", r->ppl, r->ppl_stderr},
        {"word_perplexity", r->word_perplexity, NAN},
        {"byte_perplexity", r->byte_perplexity, NAN},
        {"bits_per_byte", r->bits_per_byte, r->bits_per_byte_stderr},
    };
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        if (!isnan(figures[i].value) &&
            !eval_run_metric(run, task, figures[i].name, figures[i].value,
                             figures[i].standard_error, (int64_t)r->n_scored, err))
            return false;
    return true;
}

#define N_DOC_METRICS 4

/* In one commit: each waits for the disk. */
static bool store_documents(struct eval_run *run, const struct eval_task *task,
                            const struct perplexity_result *result,
                            const struct documents *documents, struct rml_error *err)
{
    static const char *const metrics[N_DOC_METRICS] = {"nll_sum", "n_scored", "n_words", "n_bytes"};
    struct store_eval_doc *rows = calloc(documents->n + 1, sizeof *rows);
    double(*values)[N_DOC_METRICS] = calloc(documents->n + 1, sizeof *values);
    size_t n = 0;
    bool ok = (rows && values) ||
              rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory to store the documents");
    for (size_t d = 0; ok && d < documents->n; d++) {
        const struct document_result *doc = &result->docs[d];
        if (doc->n_scored == 0)
            continue;
        values[n][0] = doc->nll_sum;
        values[n][1] = (double)doc->n_scored;
        values[n][2] = doc->n_words;
        values[n][3] = doc->n_bytes;
        rows[n] = (struct store_eval_doc){.task = task->name,
                                          .doc_id = documents->docs[d].id,
                                          .doc_idx = (int64_t)d,
                                          .metrics = metrics,
                                          .values = values[n],
                                          .n_metrics = N_DOC_METRICS};
        n++;
    }
    ok = ok && store_add_eval_docs(run->store, run->run_id, rows, n, err);
    free(rows);
    free(values);
    return ok;
}

/* Scores lie at the indices of their windows; only those chosen are computed. */
bool perplexity_score(struct perplexity_result *result, struct eval_run *run,
                      const struct eval_task *task, const struct documents *documents,
                      const struct windows *windows, const struct window_settings *settings,
                      const size_t *chosen, size_t n_chosen, struct rml_error *err)
{
    struct eval_request *requests = calloc(n_chosen + 1, sizeof *requests);
    struct eval_scores scores = {0}, all = {0};
    bool ok = requests != NULL;
    for (size_t i = 0; ok && i < n_chosen; i++)
        requests[i] = windows->requests[chosen[i]];
    if (!ok)
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %zu windows", n_chosen);
    ok = ok && eval_scores_init(&scores, requests, n_chosen, err);
    struct running_value value = {.requests = requests, .scores = &scores, .n = n_chosen};
    const struct eval_watch watch = {.status = show_value, .user = &value};
    ok = ok && eval_run_score(run, task, requests, n_chosen, &scores, &watch, err);
    all.scores = ok ? calloc(windows->n + 1, sizeof *all.scores) : NULL;
    if (ok && !all.scores)
        ok = rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %zu windows", windows->n);
    for (size_t i = 0; ok && i < n_chosen; i++)
        all.scores[chosen[i]] = scores.scores[i];
    *result = (struct perplexity_result){0};
    ok = ok &&
         perplexity_result_init(result, task->engine, documents, windows, settings, chosen,
                                n_chosen, &all, err) &&
         store_documents(run, task, result, documents, err) &&
         store_figures(run, task, result, err);
    if (!ok)
        perplexity_result_release(result);
    free(all.scores);
    eval_scores_release(&scores);
    free(requests);
    return ok;
}
