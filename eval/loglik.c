/*
 * rml-eval loglik: log-likelihoods of given continuations.
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "eval/choice_command.h"
#include "eval/eval_commands.h"
#include "eval/exact_sum.h"
#include "tools/cli/json_out.h"
#include "tools/cli/report.h"

static const struct argp_option option_table[] = {
    CHOICE_COMMAND_OPTIONS,
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    return choice_command_parse(state->input, key, arg, state);
}

static const struct argp loglik_argp = {
    .options = option_table,
    .parser = parse,
    .args_doc = "CHECKPOINT FILE",
    .doc = "Scores continuations behind their contexts: JSON lines with context and continuation, "
           "which are joined as they are.\n\n"
           "Each line of the result has the log-likelihood, whether every token of it is the most "
           "likely one, and the log-probability of each token.\v"
           "Example:\n\n"
           "  rml-eval loglik model.gguf pairs.jsonl\n\n"
           "with lines such as\n\n"
           "  {\"context\": \"The capital of France is\", \"continuation\": \" Paris\"}"};

/* {"id", "loglik", "greedy", "n_tokens", "logprobs", "truncated"} */
static json_t *pair_line(const struct choice_scored *scored, size_t slot, void *user)
{
    (void)user;
    const struct choice_slots *slots = &scored->requests->slots[slot];
    const struct choice_item *item = &scored->items->items[slots->item];
    json_t *line = json_pack("{sO}", "id", item->id);
    if (slots->n == 0) {
        json_object_set_new(
            line, "skipped",
            json_string(slots->status == PAIR_SKIPPED_OVERLONG ? "overlong" : "boundary"));
        return line;
    }
    const struct eval_request *request = &scored->requests->requests[slots->first];
    const struct eval_score *score = &scored->scores->scores[slots->first];
    json_t *logprobs = json_array();
    for (size_t i = 0; i < eval_n_targets(request); i++)
        json_array_append_new(logprobs, cli_json_real(score->logprobs[i]));
    json_object_set_new(line, "loglik", cli_json_real(eval_loglik(request, score)));
    json_object_set_new(line, "greedy", json_boolean(score->is_greedy));
    json_object_set_new(line, "n_tokens", json_integer((json_int_t)eval_n_targets(request)));
    json_object_set_new(line, "logprobs", logprobs);
    json_object_set_new(line, "truncated", json_integer((json_int_t)slots->n_truncated));
    return line;
}

static void print_json(const struct choice_scored *scored, double sum)
{
    json_t *items = json_array();
    for (size_t i = 0; i < scored->requests->n_slots; i++)
        json_array_append_new(items, pair_line(scored, i, NULL));
    json_t *json = json_pack(
        "{sI sf sI sI sI so sO}", "n", (json_int_t)scored->requests->n, "loglik_sum", sum,
        "n_truncated", (json_int_t)scored->requests->n_truncated, "n_skipped",
        (json_int_t)scored->requests->n_skipped, "n_reencoded",
        (json_int_t)scored->requests->n_reencoded, "items", items, "settings", scored->settings);
    cli_json_print(json, 17);
    json_decref(json);
}

static void print_lines(const struct choice_scored *scored, double sum)
{
    for (size_t i = 0; i < scored->requests->n; i++) {
        const struct eval_score *score = &scored->scores->scores[i];
        const struct eval_request *request = &scored->requests->requests[i];
        printf("%s\t%.6f\t%s\t%zu\n", request->doc_id, eval_loglik(request, score),
               score->is_greedy ? "greedy" : "-", eval_n_targets(request));
    }
    cli_note("continuations %zu, sum of log-likelihoods %.6f, truncated %zu, skipped %zu",
             scored->requests->n, sum, scored->requests->n_truncated, scored->requests->n_skipped);
}

static bool report(const struct choice_scored *scored, struct rml_error *err)
{
    struct exact_sum exact = {0};
    for (size_t i = 0; i < scored->requests->n; i++)
        exact_sum_add(&exact,
                      eval_loglik(&scored->requests->requests[i], &scored->scores->scores[i]));
    double sum = exact_sum_value(&exact);
    if (!eval_run_metric(scored->run, scored->task, "loglik_sum", sum, NAN,
                         (int64_t)scored->requests->n, err) ||
        !choice_write_items(scored, pair_line, NULL, err))
        return false;
    const char *items_file = scored->command->items_file;
    if (scored->command->options.json)
        print_json(scored, sum);
    else if (!items_file || strcmp(items_file, "-") != 0)
        print_lines(scored, sum);
    return true;
}

int eval_loglik_main(int argc, char **argv)
{
    struct choice_command command;
    choice_command_init(&command, LAYOUT_PAIRS);
    cli_parse(&command.options,
              CLI_OPT_RUN_MODEL | CLI_OPT_CTX | CLI_OPT_DB | CLI_OPT_JSON | CLI_OPT_SEED,
              &loglik_argp, argc, argv, &command);
    return choice_command_run(&command, "loglik", report);
}
