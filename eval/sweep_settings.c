/*
 * What a sweep runs: checkpoints, windows, settings.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/same_tokens.h"
#include "eval/sweep_command.h"

static bool no_memory(struct rml_error *err)
{
    return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a sweep");
}

/* ---- Checkpoints and windows ---------------------------------------------------------------- */

static bool open_checkpoints(struct sweep *s, struct rml_thread_pool *pool, struct rml_error *err)
{
    static const struct eval_settings f32 = {RML_ARITHMETIC_F32, RML_KV_F32, RML_KV_F32};
    s->checkpoints = calloc(s->request->n_checkpoints, sizeof *s->checkpoints);
    if (!s->checkpoints)
        return no_memory(err);
    for (size_t i = 0; i < s->request->n_checkpoints; i++) {
        if (!eval_engine_init(&s->checkpoints[i], s->request->checkpoints[i], &f32, pool, err))
            return false;
        for (size_t k = 0; k < i; k++)
            if (strcmp(s->checkpoints[i].sha256, s->checkpoints[k].sha256) == 0)
                return rmli_fail(err, RML_INVALID_ARGUMENT, s->checkpoints[i].name, -1,
                                 "the content of '%s' found, expected another checkpoint",
                                 s->checkpoints[k].name);
    }
    return true;
}

static bool make_windows(struct sweep *s, const struct documents *documents, struct rml_error *err)
{
    struct eval_engine *base = &s->checkpoints[0];
    s->text = *s->request->text;
    if (!eval_engine_need_tokenizer(base, err) ||
        !text_options_settle(&s->text, s->request->options->ctx, base, err) ||
        !windows_init(&s->windows, base, documents, &s->text.windows, err))
        return false;
    for (size_t i = 1; i < s->request->n_checkpoints; i++)
        if (!check_same_tokens(base->n_vocab, &s->checkpoints[i], documents, &s->text.windows,
                               &s->windows, err))
            return false;
    return true;
}

static bool choose_windows(struct sweep *s, const struct documents *documents,
                           struct rml_error *err)
{
    size_t *chosen = NULL;
    if (!selection_apply(&s->request->eval_options->selection, s->request->options->seed,
                         s->windows.n, &chosen, &s->n_windows, err))
        return false;
    s->requests = calloc(s->n_windows + 1, sizeof *s->requests);
    for (size_t i = 0; s->requests && i < s->n_windows; i++) {
        const struct eval_request *request = &s->windows.requests[chosen[i]];
        s->requests[i] = *request;
        s->n_tokens += eval_n_targets(request);
        s->longest = eval_n_fed(request) > s->longest ? eval_n_fed(request) : s->longest;
    }
    free(chosen);
    if (!s->requests)
        return no_memory(err);
    return s->n_windows > 0 ||
           rmli_fail(err, RML_FORMAT, documents->docs[0].id, -1,
                     "no token to score found, expected a document of at least %zu tokens",
                     windows_least_ids(&s->text.windows));
}

/* ---- Settings -------------------------------------------------------------------------------- */

static void add_setting(struct sweep *s, size_t checkpoint, enum rml_arithmetic arithmetic,
                        struct sweep_kv kv)
{
    const struct eval_engine *of = &s->checkpoints[checkpoint];
    bool is_base = checkpoint == 0 && arithmetic == RML_ARITHMETIC_F32 && kv.k == RML_KV_F32 &&
                   kv.v == RML_KV_F32;
    if (is_base && s->n_settings > 0)
        return; /* it is the first one */
    struct rml_kv_shape shape = rml_model_kv_shape(of->model, kv.k, kv.v);
    size_t n_pages = (s->longest + RML_PAGE_TOKENS - 1) / RML_PAGE_TOKENS;
    struct sweep_setting *setting = &s->settings[s->n_settings++];
    *setting = (struct sweep_setting){.checkpoint = of,
                                      .engine = *of,
                                      .is_base = is_base,
                                      .weight_nbytes = rml_model_weight_nbytes(of->model),
                                      .kv_nbytes = n_pages * rml_kv_page_nbytes(&shape)};
    setting->engine.settings =
        (struct eval_settings){.arithmetic = arithmetic, .k_dtype = kv.k, .v_dtype = kv.v};
    if (arithmetic == RML_ARITHMETIC_I8 && !rml_model_is_quantised(of->model))
        setting->skipped = "no matrix is quantised: i8 arithmetic is that of f32";
}

static bool list_settings(struct sweep *s, struct rml_error *err)
{
    static const struct sweep_kv f32 = {RML_KV_F32, RML_KV_F32};
    const struct sweep_request *r = s->request;
    s->settings = calloc(1 + r->n_checkpoints * r->n_arithmetics * r->n_kv, sizeof *s->settings);
    if (!s->settings)
        return no_memory(err);
    add_setting(s, 0, RML_ARITHMETIC_F32, f32);
    for (size_t c = 0; c < r->n_checkpoints; c++)
        for (size_t a = 0; a < r->n_arithmetics; a++)
            for (size_t k = 0; k < r->n_kv; k++)
                add_setting(s, c, r->arithmetics[a], r->kv[k]);
    return true;
}

/* Without --label: from all that the sweep is of, so that one that is begun again has the same. */
static bool make_label(struct sweep *s, struct rml_error *err)
{
    if (s->request->eval_options->label) {
        snprintf(s->label, sizeof s->label, "%s", s->request->eval_options->label);
        return true;
    }
    char *text = NULL, hex[65];
    size_t nbytes = 0;
    FILE *out = open_memstream(&text, &nbytes);
    bool ok = out || no_memory(err);
    for (size_t i = 0; ok && i < s->n_settings; i++) {
        char settings[512];
        ok = request_key_engine(&s->settings[i].engine, settings, sizeof settings) ||
             rmli_fail(err, RML_INTERNAL, NULL, -1, "the settings of an engine are too long");
        fprintf(out, "%s\n", settings);
    }
    for (size_t w = 0; ok && w < s->n_windows; w++) {
        ok = request_key(&s->settings[0].engine, NULL, &s->requests[w], hex, err);
        fprintf(out, "%s\n", hex);
    }
    if (out && fclose(out) != 0 && ok)
        ok = no_memory(err);
    ok = ok && eval_sha256(text, nbytes, hex, err);
    if (ok)
        snprintf(s->label, sizeof s->label, "sweep-%.8s", hex);
    free(text);
    return ok;
}

bool sweep_init(struct sweep *s, const struct sweep_request *request,
                const struct documents *documents, struct rml_thread_pool *pool,
                struct rml_error *err)
{
    *s = (struct sweep){.request = request, .longest = 1};
    bool ok = open_checkpoints(s, pool, err) && make_windows(s, documents, err) &&
              choose_windows(s, documents, err) && list_settings(s, err) && make_label(s, err);
    if (!ok)
        sweep_release(s);
    return ok;
}

void sweep_release(struct sweep *s)
{
    for (size_t i = 0; i < s->n_settings; i++)
        free(s->settings[i].settings_text);
    free(s->settings);
    free(s->requests);
    windows_release(&s->windows);
    for (size_t i = 0; s->checkpoints && i < s->request->n_checkpoints; i++)
        eval_engine_release(&s->checkpoints[i]);
    free(s->checkpoints);
    *s = (struct sweep){0};
}
