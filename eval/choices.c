/*
 * rml-eval choices: which of several continuations a checkpoint finds most likely.
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "eval/choice_command.h"
#include "eval/choice_result.h"
#include "eval/eval_commands.h"
#include "tools/cli/json_out.h"
#include "tools/cli/report.h"

enum { KEY_FORMAT = CLI_OWN_KEY, KEY_DELIMITER, KEY_MUTUAL_INFO };

static const struct argp_option option_table[] = {
    {"format", KEY_FORMAT, "NAME", 0,
     "Layout of the file: jsonl (context, choices, gold), hellaswag (llama.cpp's text, six lines "
     "an item), winogrande (llama.cpp's CSV), arc or mmlu (the datasets' JSON lines) (jsonl)",
     1},
    {"delimiter", KEY_DELIMITER, "TEXT", 0, "Between context and choice (one space)", 1},
    {"mutual-info", KEY_MUTUAL_INFO, NULL, 0,
     "Also acc_mutual_info: each choice is scored without context, too", 1},
    CHOICE_COMMAND_OPTIONS,
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct choice_command *command = state->input;
    switch (key) {
    case KEY_FORMAT:
        if (!choice_layout_parse(arg, &command->layout))
            argp_error(state,
                       "--format: '%s' found, expected jsonl, hellaswag, winogrande, arc or mmlu",
                       arg);
        return 0;
    case KEY_DELIMITER:
        command->rules.delimiter = arg;
        return 0;
    case KEY_MUTUAL_INFO:
        command->rules.mutual_info = true;
        return 0;
    default:
        return choice_command_parse(command, key, arg, state);
    }
}

static const struct argp choices_argp = {
    .options = option_table,
    .parser = parse,
    .args_doc = "CHECKPOINT FILE",
    .doc =
        "Scores each choice behind its context and picks the likeliest, as lm-eval does, in f32 "
        "arithmetic with an f32 cache unless options say otherwise.\n\n"
        "acc picks by log-likelihood, acc_norm by that for each character, acc_bytes for each "
        "byte, acc_token for each token. Contexts are computed once for all choices behind "
        "them. What stands behind +- is the standard error of the mean: sqrt(p (1 - p) / (n - 1)) "
        "of independent items, clustered where items have the field group (questions on one "
        "text, rewordings of one question), whose items then count as one block.\n\n"
        "Of the formats hellaswag and winogrande --limit N draws the tasks that llama.cpp's "
        "--hellaswag-tasks N and --winogrande-tasks N draw (MT19937 seeded with 1 + --seed); "
        "acc_hellaswag is its score.\v"
        "Example: questions of one's own, and what was picked for each:\n\n"
        "  rml-eval choices model.gguf questions.jsonl --items picks.jsonl\n\n"
        "with lines such as\n\n"
        "  {\"context\": \"The sky is\", \"choices\": [\"blue\", \"green\"], \"gold\": 0}"};

static json_t *item_line(const struct choice_scored *scored, size_t slot, void *user)
{
    const struct choice_result *result = user;
    const struct choice_slots *slots = &scored->requests->slots[slot];
    return choice_item_json(scored->items, scored->requests, slots, choice_result_of(result, slots),
                            scored->scores);
}

static void print_json(const struct choice_scored *scored, const struct choice_result *result)
{
    json_t *json = json_pack("{sI}", "n", (json_int_t)result->n);
    for (int m = 0; m < N_CHOICE_METRICS; m++) {
        if (!result->has[m])
            continue;
        char key[64];
        snprintf(key, sizeof key, "%s_stderr", choice_metric_name((enum choice_metric)m));
        json_object_set_new(json, choice_metric_name((enum choice_metric)m),
                            cli_json_real(result->mean[m]));
        json_object_set_new(json, key, cli_json_real(result->standard_error[m]));
    }
    json_object_set_new(json, "clustered_by",
                        result->is_grouped ? json_string("group") : json_null());
    json_object_set_new(json, "n_truncated",
                        json_integer((json_int_t)scored->requests->n_truncated));
    json_object_set_new(json, "n_skipped", json_integer((json_int_t)scored->requests->n_skipped));
    json_object_set_new(json, "n_reencoded",
                        json_integer((json_int_t)scored->requests->n_reencoded));
    json_object_set(json, "settings", scored->settings);
    cli_json_print(json, 17);
    json_decref(json);
}

static void print_table(const struct choice_scored *scored, const struct choice_result *result,
                        FILE *out)
{
    fprintf(out, "%-16s %zu", "items", result->n);
    if (scored->requests->n_truncated > 0)
        fprintf(out, ", truncated from the left %zu", scored->requests->n_truncated);
    if (scored->requests->n_skipped > 0)
        fprintf(out, ", skipped %zu", scored->requests->n_skipped);
    fputc('\n', out);
    for (int m = 0; m < N_CHOICE_METRICS; m++) {
        if (!result->has[m])
            continue;
        fprintf(out, "%-16s %.4f", choice_metric_name((enum choice_metric)m), result->mean[m]);
        if (!isnan(result->standard_error[m]))
            fprintf(out, " +- %.4f%s", result->standard_error[m],
                    result->is_grouped ? " (clustered by group)" : "");
        fputc('\n', out);
    }
}

static bool report(const struct choice_scored *scored, struct rml_error *err)
{
    const struct choice_command *command = scored->command;
    struct choice_result result;
    if (!choice_result_init(&result, scored->items, scored->requests, scored->scores,
                            command->rules.mutual_info, command->layout == LAYOUT_HELLASWAG, err))
        return false;
    bool ok = choice_result_store(&result, scored->run, scored->task, scored->items, err) &&
              choice_write_items(scored, item_line, &result, err);
    bool to_stdout = command->items_file && strcmp(command->items_file, "-") == 0;
    if (ok && command->options.json)
        print_json(scored, &result);
    else if (ok)
        print_table(scored, &result, to_stdout ? stderr : stdout);
    choice_result_release(&result);
    return ok;
}

int eval_choices_main(int argc, char **argv)
{
    struct choice_command command;
    choice_command_init(&command, LAYOUT_JSONL);
    cli_parse(&command.options,
              CLI_OPT_RUN_MODEL | CLI_OPT_CTX | CLI_OPT_DB | CLI_OPT_JSON | CLI_OPT_SEED,
              &choices_argp, argc, argv, &command);
    return choice_command_run(&command, "choices", report);
}
