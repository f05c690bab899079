/*
 * rml-eval task: tasks of lm-eval that need no Python.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/eval_commands.h"
#include "eval/task_run.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/json_out.h"
#include "tools/cli/output.h"
#include "tools/cli/output_names.h"
#include "tools/cli/parse.h"
#include "tools/cli/report.h"

struct arguments {
    struct task_options task;
    const char *checkpoint, *items_file;
    char **files; /* [n_files] borrowed from argv */
    size_t n_files;
};

enum {
    KEY_NUM_FEWSHOT = CLI_OWN_KEY,
    KEY_BOUNDARY,
    KEY_OVERLONG,
    KEY_COMPAT,
    KEY_BATCH,
    KEY_ITEMS
};

static const struct argp_option option_table[] = {
    {"num-fewshot", KEY_NUM_FEWSHOT, "N", 0,
     "Examples before each document, over the file's number; a file that says 0 keeps it", 1},
    {"boundary", KEY_BOUNDARY, "HOW", 0,
     "When a token spans the end of the context and the choice is left without: reencode (the "
     "choice alone), skip or error (reencode)",
     2},
    {"overlong", KEY_OVERLONG, "HOW", 0,
     "When an item is longer than --ctx: truncate (from the left; counted), skip or error "
     "(truncate)",
     2},
    {"compat", KEY_COMPAT, "HOW", 0,
     "double-bos: in rolling tasks BOS as the tokenizer adds it after the prefix token, as lm-eval "
     "0.4 does it by default",
     2},
    {"batch", KEY_BATCH, "N", 0, "Replies at a time (16); changes no reply", 2},
    CHAT_OPTION_KEYS(3),
    CHAT_OPTION_TURNS(3),
    {"items", KEY_ITEMS, "FILE", 0, "Write a line of JSON for each item, with its prompt", 4},
    EVAL_OPTION_KEYS,
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    struct task_options *t = &a->task;
    switch (key) {
    case KEY_NUM_FEWSHOT:
        t->has_num_fewshot = true;
        t->num_fewshot = (size_t)cli_arg_u64(state, "--num-fewshot", arg, 0, 1000);
        return 0;
    case KEY_BOUNDARY:
        if (!pair_boundary_parse(arg, &t->rules.pair.boundary))
            argp_error(state, "--boundary: '%s' found, expected reencode, skip or error", arg);
        return 0;
    case KEY_OVERLONG:
        if (!pair_overlong_parse(arg, &t->rules.pair.overlong))
            argp_error(state, "--overlong: '%s' found, expected truncate, skip or error", arg);
        return 0;
    case KEY_COMPAT:
        if (strcmp(arg, "double-bos") != 0)
            argp_error(state, "--compat: '%s' found, expected double-bos", arg);
        t->double_bos = true;
        return 0;
    case KEY_BATCH:
        t->n_batch = cli_arg_u64(state, "--batch", arg, 1, GENERATE_MAX_BATCH);
        return 0;
    case KEY_ITEMS:
        a->items_file = cli_arg_output(state, "--items", arg);
        return 0;
    case ARGP_KEY_ARG:
        if (!a->checkpoint)
            a->checkpoint = arg;
        else
            a->files[a->n_files++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (a->n_files == 0)
            argp_error(state, "expected a checkpoint and at least one task file");
        if (t->options.json && a->items_file && strcmp(a->items_file, "-") == 0)
            argp_error(state, "--json and --items - both want standard output");
        return chat_command_parse(&t->rules.chat, &t->eval_options, key, arg, state);
    default:
        return chat_command_parse(&t->rules.chat, &t->eval_options, key, arg, state);
    }
}

static const struct argp task_argp = {
    .options = option_table,
    .parser = parse,
    .args_doc = "CHECKPOINT TASK.yaml...",
    .doc =
        "Scores a checkpoint on tasks described by files of lm-eval, by lm-eval's rules, prompt "
        "for "
        "prompt and example for example, in f32 arithmetic with an f32 cache unless options say "
        "otherwise.\n\n"
        "Taken is what needs no Python: local JSON and JSONL (dataset_path: json, dataset_kwargs: "
        "{data_files}), output_type multiple_choice, loglikelihood, loglikelihood_rolling and "
        "generate_until, fields and {{ expressions }}, include, description, delimiters, "
        "num_fewshot "
        "with the samplers default and first_n, metric_list, generation_kwargs (greedy) and "
        "filter_list (regex, remove_whitespace, lowercase, uppercase, take_first). tag, "
        "task_alias, "
        "metadata and should_decontaminate change no number. Whatever else a file says is refused "
        "by name before anything runs.\n\n"
        "Examples are drawn for every document of the split in its order (Python's "
        "random.Random(1234).sample), before --limit and --shard choose. With --chat they are part "
        "of the user's message unless --fewshot-as-turns; special-token text in a file stays "
        "text.\v"
        "Example:\n\n"
        "  rml-eval task model.gguf arc.yaml --num-fewshot 5 --items items.jsonl\n\n"
        "with arc.yaml such as\n\n"
        "  task: my_arc\n"
        "  dataset_path: json\n"
        "  dataset_kwargs: {data_files: {test: arc.jsonl}}\n"
        "  test_split: test\n"
        "  output_type: multiple_choice\n"
        "  doc_to_text: \"Question: {{question}}\\nAnswer:\"\n"
        "  doc_to_choice: \"{{choices.text}}\"\n"
        "  doc_to_target: \"{{choices.label.index(answerKey)}}\""};

/* ---- Output ------------------------------------------------------------------------------------- */

/* Figures are what has a standard error beside it, or is a real without. */
static void print_task(const json_t *result, FILE *out)
{
    const char *key;
    json_t *value;
    fprintf(out, "%s (%s): %" JSON_INTEGER_FORMAT " items",
            json_string_value(json_object_get(result, "task")),
            json_string_value(json_object_get(result, "output_type")),
            json_integer_value(json_object_get(result, "n")));
    json_int_t n_cut = json_integer_value(json_object_get(result, "n_truncated"));
    json_int_t n_skipped = json_integer_value(json_object_get(result, "n_skipped"));
    if (n_cut > 0)
        fprintf(out, ", truncated from the left %" JSON_INTEGER_FORMAT, n_cut);
    if (n_skipped > 0)
        fprintf(out, ", skipped %" JSON_INTEGER_FORMAT, n_skipped);
    fputc('\n', out);
    const char *clusters = json_string_value(json_object_get(result, "clustered_by"));
    json_object_foreach((json_t *)(uintptr_t)result, key, value)
    {
        char name[128];
        size_t n = strlen(key);
        if (!json_is_real(value) || (n > 7 && strcmp(key + n - 7, "_stderr") == 0))
            continue;
        snprintf(name, sizeof name, "%s_stderr", key);
        const json_t *error = json_object_get(result, name);
        fprintf(out, "  %-16s %.4f", key, json_real_value(value));
        if (json_is_real(error))
            fprintf(out, " +- %.4f", json_real_value(error));
        if (json_is_real(error) && clusters)
            fprintf(out, " (clustered by %s)", clusters);
        fputc('\n', out);
    }
}

static void print_results(const struct arguments *a, const json_t *results)
{
    bool to_stdout = a->items_file && strcmp(a->items_file, "-") == 0;
    if (a->task.options.json) {
        json_t *json = json_pack("{sO}", "tasks", results);
        cli_json_print(json, 17);
        json_decref(json);
        return;
    }
    for (size_t i = 0; i < json_array_size(results); i++)
        print_task(json_array_get(results, i), to_stdout ? stderr : stdout);
}

/* ---- Running -------------------------------------------------------------------------------------- */

static bool score_all(const struct arguments *a, struct task_run *tasks, struct eval_engine *engine,
                      struct eval_run *run, json_t *results, struct rml_error *err)
{
    struct cli_output output;
    if (a->items_file && !cli_output_open(&output, a->items_file, err))
        return false;
    bool ok = eval_run_begin(run, &a->task.options, &a->task.eval_options, err);
    for (size_t i = 0; ok && i < a->n_files; i++) {
        json_t *result = NULL;
        ok = task_run_score(&tasks[i], engine, run, &a->task, a->items_file ? &output : NULL,
                            &result, err);
        if (ok)
            json_array_append(results, result);
        json_decref(result);
    }
    if (a->items_file && ok)
        return cli_output_commit(&output, err);
    if (a->items_file)
        cli_output_abandon(&output);
    return ok;
}

static bool run_tasks(struct arguments *a, struct task_run *tasks, struct eval_run *run,
                      struct rml_thread_pool *pool, struct rml_error *err)
{
    struct eval_engine engine;
    struct eval_settings settings = eval_settings_of(&a->task.options);
    if (!eval_engine_init(&engine, a->checkpoint, &settings, pool, err))
        return false;
    json_t *results = json_array();
    bool ok = eval_engine_need_tokenizer(&engine, err) &&
              chat_options_settle(&a->task.rules.chat, &engine, err);
    for (size_t i = 0; ok && i < a->n_files; i++)
        ok = task_run_encode(&tasks[i], &engine, &a->task, err);
    ok = ok && score_all(a, tasks, &engine, run, results, err);
    if (ok)
        print_results(a, results);
    json_decref(results);
    eval_engine_release(&engine);
    return ok;
}

/* Tasks are told apart by their names in the database and when runs are compared. */
static bool prepare(const struct arguments *a, struct task_run *tasks, struct rml_error *err)
{
    for (size_t i = 0; i < a->n_files; i++) {
        if (!task_run_prepare(&tasks[i], a->files[i], &a->task, err))
            return false;
        for (size_t j = 0; j < i; j++)
            if (strcmp(tasks[i].config.name, tasks[j].config.name) == 0)
                return rmli_fail(err, RML_FORMAT, a->files[i], -1,
                                 "task '%s' found, which %s is, too, expected names of their own",
                                 tasks[i].config.name, a->files[j]);
    }
    return true;
}

int eval_task_main(int argc, char **argv)
{
    struct arguments a = {.task.n_batch = 16};
    a.files = calloc((size_t)argc + 1, sizeof *a.files);
    struct task_run *tasks = calloc((size_t)argc + 1, sizeof *tasks);
    if (!a.files || !tasks) {
        free(tasks);
        free(a.files);
        return cli_fail(RML_NO_MEMORY, NULL, "no memory for the arguments");
    }
    cli_parse(&a.task.options,
              CLI_OPT_RUN_MODEL | CLI_OPT_CTX | CLI_OPT_DB | CLI_OPT_JSON | CLI_OPT_SEED,
              &task_argp, argc, argv, &a);
    struct rml_error err = RML_ERROR_INIT;
    struct eval_run run = {0};
    struct rml_thread_pool *pool = NULL;
    if (prepare(&a, tasks, &err) && (pool = rml_thread_pool_create(a.task.options.threads, &err)))
        run_tasks(&a, tasks, &run, pool, &err);
    int code = eval_run_end(&run, eval_exit(&err, CLI_PASS));
    rml_thread_pool_destroy(pool);
    for (size_t i = 0; i < a.n_files; i++)
        task_run_release(&tasks[i]);
    free(tasks);
    free(a.files);
    return code;
}
