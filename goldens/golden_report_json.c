/*
 * Verdicts as a JSON document.
 */
#include "goldens/golden_report.h"

#include <math.h>

#include "goldens/golden_text.h"
#include "tools/cli/json_out.h"

static json_t *count(size_t n)
{
    return json_integer((json_int_t)n);
}

static json_t *deviation_json(const struct golden_deviation *d)
{
    if (d->kind == GOLDEN_NO_DEVIATION)
        return json_null();
    json_t *out = json_object();
    json_object_set_new(out, "kind", json_string(golden_deviation_name(d->kind)));
    json_object_set_new(out, "position", count(d->position));
    json_object_set_new(out, "id", d->id >= 0 ? json_integer(d->id) : json_null());
    json_object_set_new(out, "got", cli_json_real(d->got));
    json_object_set_new(out, "want", cli_json_real(d->want));
    json_object_set_new(out, "layer", d->branch ? json_integer(d->layer) : json_null());
    json_object_set_new(out, "branch", cli_json_text(d->branch));
    char text[256];
    golden_deviation_text(d, text, sizeof text);
    json_object_set_new(out, "text", cli_json_text(text));
    return out;
}

static json_t *id_json(int32_t id)
{
    return id >= 0 ? json_integer(id) : json_null();
}

/* A token that the text does not give stands before all numbers. */
static json_t *token_json(const struct golden_token_deviation *d)
{
    json_t *out = json_object();
    json_object_set_new(out, "kind", json_string("token"));
    json_object_set_new(out, "position", count(d->index));
    json_object_set_new(out, "id", json_null());
    json_object_set_new(out, "got", id_json(d->got));
    json_object_set_new(out, "want", id_json(d->want));
    json_object_set_new(out, "layer", json_null());
    json_object_set_new(out, "branch", json_null());
    json_object_set_new(out, "got_piece", cli_json_text(d->got_piece[0] ? d->got_piece : NULL));
    json_object_set_new(out, "want_piece", cli_json_text(d->want_piece[0] ? d->want_piece : NULL));
    char text[256];
    golden_token_deviation_text(d, text, sizeof text);
    json_object_set_new(out, "text", cli_json_text(text));
    return out;
}

/* Null: the case has no text, or it could not be compared. */
static json_t *text_equal_json(enum golden_text_state state)
{
    return state == GOLDEN_TEXT_EQUAL     ? json_true()
           : state == GOLDEN_TEXT_DIFFERS ? json_false()
                                          : json_null();
}

static json_t *case_json(const char *name, const struct golden_outcome *o)
{
    json_t *out = json_object();
    json_object_set_new(out, "name", cli_json_text(name));
    json_object_set_new(out, "passed", json_boolean(o->passed));
    json_object_set_new(out, "max_abs_error", cli_json_real(o->max_abs_error));
    json_object_set_new(out, "max_logsumexp_error", cli_json_real(o->max_logsumexp_error));
    json_object_set_new(out, "n_positions", count(o->n_positions));
    json_object_set_new(out, "greedy_equal", json_boolean(o->greedy_equal));
    json_object_set_new(out, "n_greedy_compared", count(o->n_greedy_compared));
    json_object_set_new(out, "n_greedy", count(o->n_greedy));
    json_object_set_new(out, "n_residual", count(o->n_residual));
    json_object_set_new(out, "max_residual_error",
                        o->n_residual > 0 ? cli_json_real(o->max_residual_error) : json_null());
    json_object_set_new(out, "text_equal", text_equal_json(o->text));
    json_object_set_new(out, "first_deviation",
                        o->text == GOLDEN_TEXT_DIFFERS ? token_json(&o->token)
                                                       : deviation_json(&o->first));
    return out;
}

static json_t *verdict_json(const struct golden_verdict *v)
{
    static const char *const statuses[] = {
        [GOLDEN_PASSED] = "passed",           [GOLDEN_FAILED] = "failed",
        [GOLDEN_OTHER_MODEL] = "other-model", [GOLDEN_BROKEN] = "error",
        [GOLDEN_SKIPPED] = "skipped",
    };
    const struct golden_settings *s = &v->settings;
    json_t *out = json_object(), *cases = json_array();
    json_object_set_new(out, "file", cli_json_text(v->file));
    json_object_set_new(out, "passed", json_boolean(v->status == GOLDEN_PASSED));
    json_object_set_new(out, "status", json_string(statuses[v->status]));
    json_object_set_new(out, "name", cli_json_text(v->name));
    json_object_set_new(out, "checkpoint", cli_json_text(v->checkpoint));
    if (v->n_cases > 0) {
        char kv[16];
        snprintf(kv, sizeof kv, "%s:%s", rml_kv_dtype_name(s->k_dtype),
                 rml_kv_dtype_name(s->v_dtype));
        json_object_set_new(out, "arithmetic", json_string(rml_arithmetic_name(s->arithmetic)));
        json_object_set_new(
            out, "kv", json_string(s->k_dtype == s->v_dtype ? rml_kv_dtype_name(s->k_dtype) : kv));
        json_object_set_new(out, "isa", cli_json_text(v->isa));
        json_object_set_new(out, "threads", count(v->threads));
        json_object_set_new(
            out, "tolerance",
            json_pack("{so so so}", "logit_abs", cli_json_real(s->logit_abs), "logsumexp_abs",
                      cli_json_real(s->logsumexp_abs), "residual_rel",
                      s->compare_residual ? cli_json_real(s->residual_rel) : json_null()));
    }
    if (v->status == GOLDEN_OTHER_MODEL)
        json_object_set_new(out, "model",
                            json_pack("{ss ss}", "want", v->model_want, "got", v->model_got));
    if (v->error.code != RML_OK)
        json_object_set_new(out, "error",
                            json_pack("{ss so so}", "code", rml_code_name(v->error.code), "message",
                                      cli_json_text(v->error.message), "file",
                                      cli_json_text(v->error.file[0] ? v->error.file : NULL)));
    for (size_t i = 0; i < v->n_done; i++)
        json_array_append_new(cases, case_json(v->case_names[i], &v->outcomes[i]));
    json_object_set_new(out, "cases", cases);
    return out;
}

void golden_print_json(const struct golden_verdict *verdicts, size_t n)
{
    json_t *root = json_object(), *files = json_array();
    bool passed = true;
    for (size_t i = 0; i < n; i++) {
        passed &= verdicts[i].status == GOLDEN_PASSED || verdicts[i].status == GOLDEN_SKIPPED;
        json_array_append_new(files, verdict_json(&verdicts[i]));
    }
    json_object_set_new(root, "passed", json_boolean(passed));
    json_object_set_new(root, "files", files);
    cli_json_print(root, 9);
    json_decref(root);
}
