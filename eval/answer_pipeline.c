/*
 * What is made of a reply before it is compared.
 */
#include "eval/answer_pipeline.h"

#include "tools/cli/byte_input.h"

void answer_judge_release(struct answer_judge *judge)
{
    for (size_t p = 0; p < judge->n; p++)
        for (size_t s = 0; s < judge->pipelines[p].n_steps; s++)
            answer_matcher_destroy(judge->pipelines[p].steps[s].matcher);
    answer_matcher_destroy(judge->exact_match);
    *judge = (struct answer_judge){0};
}

static bool apply(const struct answer_step *step, const char *text, size_t nbytes,
                  struct rml_bytes *out, struct rml_error *err)
{
    switch (step->kind) {
    case STEP_REGEX:
        return answer_extract(step->matcher, text, nbytes, out, err);
    case STEP_STRIP:
        return answer_strip(text, nbytes, out, err);
    default:
        return answer_letter_case(text, nbytes, step->kind == STEP_UPPER, out, err);
    }
}

bool answer_pipeline_apply(const struct answer_pipeline *pipeline, const char *reply, size_t nbytes,
                           struct rml_bytes *answer, struct rml_error *err)
{
    struct rml_bytes text = {0};
    bool ok = true;
    for (size_t s = 0; ok && s < pipeline->n_steps; s++) {
        struct rml_bytes out = {0};
        const char *from = s == 0 ? reply : text.n > 0 ? text.data : "";
        ok = apply(&pipeline->steps[s], from, s == 0 ? nbytes : text.n, &out, err);
        rml_bytes_release(&text);
        text = out;
    }
    if (ok && pipeline->n_steps == 0)
        return cli_bytes_append(answer, reply, nbytes, err);
    ok = ok && cli_bytes_append(answer, text.n > 0 ? text.data : "", text.n, err);
    rml_bytes_release(&text);
    return ok;
}
