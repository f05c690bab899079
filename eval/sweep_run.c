/*
 * Running a sweep: every setting a run of the database, all of them candidates of one pass.
 */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "eval/sweep_command.h"
#include "tools/cli/json_out.h"
#include "tools/cli/stored_run.h"

/* Checkpoint and arithmetic share a context. */
struct contexts {
    struct rml_context **of; /* [n_checkpoints][2] NULL until needed */
    size_t n;
};

static bool no_memory(struct rml_error *err)
{
    return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a sweep");
}

static json_t *settings_json(const struct sweep *s, const struct sweep_setting *setting)
{
    json_t *json =
        eval_settings_json(&setting->engine, s->request->options, s->request->eval_options);
    text_options_add_settings(&s->text, json);
    json_object_set_new(json, "base", cli_json_text(s->checkpoints[0].name));
    json_object_set_new(json, "base_identity", json_string(s->base.identity));
    json_object_set_new(json, "sweep", cli_json_text(s->label));
    return json;
}

/* The run and its task: rows before they are work. */
static bool begin(struct sweep *s, struct sweep_setting *setting, struct store *store,
                  struct rml_error *err)
{
    json_t *json = settings_json(s, setting);
    setting->settings_text = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    if (!setting->settings_text)
        return no_memory(err);
    setting->task = (struct eval_task){.name = "kld",
                                       .protocol = protocol_name(s->text.windows.protocol),
                                       .engine = &setting->engine,
                                       .base = &s->settings[0].engine,
                                       .base_identity = s->base.identity,
                                       .settings_json = setting->settings_text};
    setting->run = (struct eval_run){.store = store, .fresh = s->request->eval_options->fresh};
    return cli_run_add(store, STORE_RUN_EVAL, (int64_t)(s->request->options->seed & INT64_MAX),
                       s->label, &setting->run.run_id, err) &&
           eval_run_add_task(&setting->run, &setting->task, err);
}

static struct rml_context *context_of(struct sweep *s, struct contexts *contexts,
                                      const struct sweep_setting *setting, struct rml_error *err)
{
    size_t i = 2 * (size_t)(setting->checkpoint - s->checkpoints) +
               (setting->engine.settings.arithmetic == RML_ARITHMETIC_I8);
    if (!contexts->of[i])
        contexts->of[i] = eval_engine_context(&setting->engine, s->longest, KLD_BATCH_ROWS, err);
    return contexts->of[i];
}

/* Figures that are no scores: what the chart of quality is drawn over. */
static bool store_costs(struct sweep_setting *setting, size_t n_tokens, struct rml_error *err)
{
    const struct {
        const char *name;
        double value;
    } figures[] = {{"weight_bytes", (double)setting->weight_nbytes},
                   {"kv_bytes", (double)setting->kv_nbytes},
                   {"tokens_per_second", setting->tokens_per_second}};
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        if (!isnan(figures[i].value) &&
            !eval_run_metric(&setting->run, &setting->task, figures[i].name, figures[i].value, NAN,
                             (int64_t)n_tokens, err))
            return false;
    return true;
}

/* Passes that both ran in full, each a pair of neighbours in time. */
static bool compare_speed(struct sweep_setting *setting, const struct kld_speed *base,
                          const struct kld_speed *own, struct rml_error *err)
{
    double *ratios = calloc(base->n + 1, sizeof *ratios);
    if (!ratios)
        return no_memory(err);
    size_t n = 0;
    for (size_t i = 0; i < base->n && i < own->n; i++)
        if (base->ns[i] > 0 && own->ns[i] > 0)
            ratios[n++] = base->ns[i] / own->ns[i];
    setting->speed_ratio = summarize(ratios, n, 0.95);
    setting->tokens_per_second = own->seconds > 0 ? own->n_ids / own->seconds : NAN;
    free(ratios);
    return true;
}

static bool work_out(struct sweep *s, struct sweep_setting *setting,
                     const struct kld_candidate *candidate, const struct kld_speed *base_speed,
                     struct rml_error *err)
{
    const struct kld_speed *own = setting->is_base ? base_speed : &candidate->speed;
    return kld_result_compute(&setting->result, &candidate->tokens, s->n_windows, err) &&
           compare_speed(setting, base_speed, own, err) &&
           kld_store(&setting->result, &setting->run, &setting->task, err) &&
           store_costs(setting, s->n_tokens, err) &&
           store_find_decode_speed(setting->run.store, setting->run.run_id, setting->task.name,
                                   &setting->decode, err);
}

static bool run_all(struct sweep *s, struct store *store, struct contexts *contexts,
                    struct kld_candidate *candidates, struct kld_speed *base_speed,
                    struct rml_error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_settings; i++) {
        struct sweep_setting *setting = &s->settings[i];
        if (setting->skipped)
            continue;
        struct kld_candidate *candidate = &candidates[n++];
        *candidate = (struct kld_candidate){
            .run = &setting->run, .task = &setting->task, .is_base = setting->is_base};
        if (!begin(s, setting, store, err) ||
            !(setting->is_base ||
              (candidate->context = context_of(s, contexts, setting, err)) != NULL))
            return false;
    }
    const struct kld_pass_options options = {0};
    bool ok =
        kld_pass(&s->base, s->requests, s->n_windows, candidates, n, &options, base_speed, err);
    for (size_t i = 0, c = 0; ok && i < s->n_settings; i++)
        if (!s->settings[i].skipped)
            ok = work_out(s, &s->settings[i], &candidates[c++], base_speed, err);
    return ok;
}

bool sweep_run(struct sweep *s, struct store *store, struct rml_error *err)
{
    struct contexts contexts = {.n = 2 * s->request->n_checkpoints};
    struct kld_speed base_speed = {0};
    struct kld_candidate *candidates = calloc(s->n_settings, sizeof *candidates);
    contexts.of = calloc(contexts.n, sizeof(struct rml_context *));
    bool ok = (candidates && contexts.of) || no_memory(err);
    ok = ok &&
         kld_base_from_engine(&s->base, &s->settings[0].engine, s->longest, KLD_BATCH_ROWS, err) &&
         run_all(s, store, &contexts, candidates, &base_speed, err);
    for (size_t i = 0; candidates && i < s->n_settings; i++)
        kld_candidate_release(&candidates[i]);
    for (size_t i = 0; contexts.of && i < contexts.n; i++)
        rml_context_destroy(contexts.of[i]);
    free(contexts.of);
    free(candidates);
    kld_speed_release(&base_speed);
    kld_base_release(&s->base);
    return ok;
}

int sweep_end(struct sweep *s, struct store *store, int exit_code)
{
    for (size_t i = 0; i < s->n_settings; i++)
        if (s->settings[i].run.run_id > 0)
            exit_code = cli_run_finish(store, s->settings[i].run.run_id, exit_code);
    return exit_code;
}
