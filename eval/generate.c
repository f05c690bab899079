/*
 * rml-eval generate: replies to prompts until a stop, and how many of them are right.
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/eval_commands.h"
#include "eval/eval_options.h"
#include "eval/generate_keep.h"
#include "eval/generate_result.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/json_out.h"
#include "tools/cli/output.h"
#include "tools/cli/output_names.h"
#include "tools/cli/parse.h"
#include "tools/cli/report.h"

#define MAX_UNTIL 32

struct arguments {
    struct cli_options options;
    struct eval_options eval_options;
    struct generate_rules rules;
    struct answer_rules answers;
    struct answer_judge judge;
    const char *until[MAX_UNTIL];
    const char *checkpoint, *file, *items_file;
    struct chat_options chat;
    size_t max_length;
};

/* ---- Options ------------------------------------------------------------------------------ */

enum {
    KEY_UNTIL = CLI_OWN_KEY,
    KEY_MAX_TOKENS,
    KEY_BATCH,
    KEY_TEMP,
    KEY_TOP_K,
    KEY_TOP_P,
    KEY_MIN_P,
    KEY_REPEAT_PENALTY,
    KEY_REGEX,
    KEY_GROUP,
    KEY_FALLBACK,
    KEY_IGNORE_REGEX,
    KEY_IGNORE_CASE,
    KEY_IGNORE_PUNCTUATION,
    KEY_IGNORE_NUMBERS,
    KEY_ITEMS
};

static const struct argp_option option_table[] = {
    {"until", KEY_UNTIL, "TEXT", 0,
     "A reply ends before this text (may be given several times); \\n is a line feed", 1},
    {"max-tokens", KEY_MAX_TOKENS, "N", 0, "Longest reply (256)", 1},
    {"batch", KEY_BATCH, "N", 0, "Replies at a time (16); changes no reply", 1},
    {"temp", KEY_TEMP, "T", 0, "Temperature (0: greedy)", 2},
    {"top-k", KEY_TOP_K, "K", 0, "Sample from the K most likely tokens (0: all)", 2},
    {"top-p", KEY_TOP_P, "P", 0, "Sample from the share P of probability (1: all)", 2},
    {"min-p", KEY_MIN_P, "P", 0, "Sample from what has P times the best probability (0: all)", 2},
    {"repeat-penalty", KEY_REPEAT_PENALTY, "X", 0, "Divide logits of tokens that came before (1)",
     2},
    CHAT_OPTION_KEYS(3),
    {"regex", KEY_REGEX, "PATTERN", 0, "The answer is what this matches in the reply (its group)",
     4},
    {"group", KEY_GROUP, "N", 0, "Which of its matches: 0 is the first, -1 the last (0)", 4},
    {"fallback", KEY_FALLBACK, "TEXT", 0, "The answer when nothing matches ([invalid])", 4},
    {"ignore-regex", KEY_IGNORE_REGEX, "PATTERN", 0,
     "Cut out what matches before comparing (may be given several times)", 4},
    {"ignore-case", KEY_IGNORE_CASE, NULL, 0, "Compare in lower case", 4},
    {"ignore-punctuation", KEY_IGNORE_PUNCTUATION, NULL, 0, "Compare without punctuation", 4},
    {"ignore-numbers", KEY_IGNORE_NUMBERS, NULL, 0, "Compare without digits", 4},
    {"items", KEY_ITEMS, "FILE", 0, "Write a line of JSON for each item", 5},
    EVAL_OPTION_KEYS,
    {0},
};

/* "\n" of the command line as a line feed. Changes the word in place. */
static void add_until(struct arguments *args, char *text, struct argp_state *state)
{
    char *out = text;
    for (const char *in = text; *in; in++) {
        bool escaped = in[0] == '\\' && in[1] == 'n';
        *out++ = escaped ? '\n' : *in;
        in += escaped;
    }
    *out = 0;
    if (*text == 0)
        argp_error(state, "--until: an empty text found, expected one that can occur");
    if (args->rules.n_until == MAX_UNTIL)
        argp_error(state, "more than %d times --until", MAX_UNTIL);
    args->until[args->rules.n_until++] = text;
}

static int64_t parse_group(struct argp_state *state, const char *text)
{
    bool negative = *text == '-';
    int64_t n = (int64_t)cli_arg_u64(state, "--group", text + negative, 0, 1000000);
    return negative ? -n : n;
}

static void check_pattern(struct argp_state *state, const char *option, const char *pattern)
{
    struct rml_error why = RML_ERROR_INIT;
    if (!answer_pattern_check(pattern, &why))
        argp_error(state, "%s: %s", option, why.message);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *args = state->input;
    struct rml_sampler_params *s = &args->rules.sampling;
    switch (key) {
    case KEY_UNTIL:
        add_until(args, arg, state);
        return 0;
    case KEY_MAX_TOKENS:
        args->rules.max_tokens = cli_arg_u64(state, "--max-tokens", arg, 1, 1 << 20);
        return 0;
    case KEY_BATCH:
        args->rules.n_batch = cli_arg_u64(state, "--batch", arg, 1, GENERATE_MAX_BATCH);
        return 0;
    case KEY_TEMP:
        s->temperature = cli_arg_f64(state, "--temp", arg, 0, 1e6);
        return 0;
    case KEY_TOP_K:
        s->top_k = (int64_t)cli_arg_u64(state, "--top-k", arg, 0, INT32_MAX);
        return 0;
    case KEY_TOP_P:
        s->top_p = cli_arg_f64(state, "--top-p", arg, 1e-9, 1);
        return 0;
    case KEY_MIN_P:
        s->min_p = cli_arg_f64(state, "--min-p", arg, 0, 0.999999);
        return 0;
    case KEY_REPEAT_PENALTY:
        s->repetition_penalty = cli_arg_f64(state, "--repeat-penalty", arg, 1e-3, 1e3);
        return 0;
    case KEY_REGEX:
        check_pattern(state, "--regex", arg);
        args->answers.pattern = arg;
        return 0;
    case KEY_GROUP:
        args->answers.group_select = parse_group(state, arg);
        return 0;
    case KEY_FALLBACK:
        args->answers.fallback = arg;
        return 0;
    case KEY_IGNORE_REGEX:
        if (args->answers.n_ignore_regexes == ANSWER_MAX_IGNORED)
            argp_error(state, "more than %d times --ignore-regex", ANSWER_MAX_IGNORED);
        check_pattern(state, "--ignore-regex", arg);
        args->answers.ignore_regexes[args->answers.n_ignore_regexes++] = arg;
        return 0;
    case KEY_IGNORE_CASE:
        args->answers.ignore_case = true;
        return 0;
    case KEY_IGNORE_PUNCTUATION:
        args->answers.ignore_punctuation = true;
        return 0;
    case KEY_IGNORE_NUMBERS:
        args->answers.ignore_numbers = true;
        return 0;
    case KEY_ITEMS:
        args->items_file = cli_arg_output(state, "--items", arg);
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 1)
            argp_error(state, "'%s' found, expected a checkpoint and one file", arg);
        *(state->arg_num == 0 ? &args->checkpoint : &args->file) = arg;
        return 0;
    case ARGP_KEY_END:
        if (!args->file)
            argp_error(state, "expected a checkpoint and a file of prompts");
        if (args->options.json && args->items_file && strcmp(args->items_file, "-") == 0)
            argp_error(state, "--json and --items - both want standard output");
        return chat_command_parse(&args->chat, &args->eval_options, key, arg, state);
    default:
        return chat_command_parse(&args->chat, &args->eval_options, key, arg, state);
    }
}

static const struct argp generate_argp = {
    .options = option_table,
    .parser = parse,
    .args_doc = "CHECKPOINT FILE",
    .doc = "Generates a reply to the context of each line and compares it with the line's gold, by "
           "lm-eval's rules for generate_until and exact_match, in f32 arithmetic with an f32 "
           "cache unless options say otherwise.\n\n"
           "A reply ends at the checkpoint's stop ids, at --until or at --max-tokens. Contexts "
           "longer than --ctx less --max-tokens lose their beginning, as in lm-eval, and are "
           "counted. gold is a string or an array of those accepted; lines without are answered "
           "and not judged. What stands behind +- is the standard error of the mean, clustered "
           "where items have the field group.\v"
           "Example: sums whose answer is the last number of the reply:\n\n"
           "  rml-eval generate model.gguf sums.jsonl --chat --regex '-?[0-9]+' --group -1\n\n"
           "with lines such as\n\n"
           "  {\"context\": \"What is 2 + 3?\", \"gold\": \"5\"}"};

/* ---- Output ------------------------------------------------------------------------------------ */

static bool write_items(const struct arguments *args, const struct generate_result *result,
                        const struct generate_requests *requests, struct rml_error *err)
{
    struct cli_output output;
    if (!args->items_file)
        return true;
    if (!cli_output_open(&output, args->items_file, err))
        return false;
    bool ok = true;
    for (size_t i = 0; ok && i < result->n; i++) {
        json_t *line = generate_item_json(result, &args->judge, requests, i);
        ok = line && json_dumpf(line, output.stream, JSON_COMPACT | JSON_REAL_PRECISION(17)) == 0 &&
             fputc('\n', output.stream) != EOF;
        json_decref(line);
    }
    if (ok)
        return cli_output_commit(&output, err);
    cli_output_fail(&output, err);
    cli_output_abandon(&output);
    return false;
}

static void print_json(const struct generate_result *r, json_t *settings)
{
    json_t *json =
        json_pack("{sI sI so so ss? sI sI sO}", "n", (json_int_t)r->n, "n_judged",
                  (json_int_t)r->n_judged, "exact_match", cli_json_real(r->mean[0]),
                  "exact_match_stderr", cli_json_real(r->standard_error[0]), "clustered_by",
                  r->is_grouped ? "group" : NULL, "n_tokens", (json_int_t)r->n_tokens,
                  "n_truncated", (json_int_t)r->n_truncated, "settings", settings);
    cli_json_print(json, 17);
    json_decref(json);
}

static void print_lines(const struct generate_result *r, FILE *out)
{
    fprintf(out, "%-16s %zu, of %zu token%s", "replies", r->n, r->n_tokens,
            cli_plural(r->n_tokens));
    if (r->n_truncated)
        fprintf(out, ", contexts cut from the left %zu", r->n_truncated);
    fputc('\n', out);
    if (r->n_judged > 0)
        fprintf(out, "%-16s %.4f", "exact_match", r->mean[0]);
    if (r->n_judged > 0 && !isnan(r->standard_error[0]))
        fprintf(out, " +- %.4f%s", r->standard_error[0],
                r->is_grouped ? " (clustered by group)" : "");
    if (r->n_judged > 0)
        fputc('\n', out);
}

/* What the run says of replies is how many were right; where they themselves are is told once. */
static void tell_where(const struct eval_run *run)
{
    cli_note(run->store ? "the replies are kept as ids; the same command with --items FILE writes "
                          "them as text, none being generated again"
                        : "--items FILE writes the replies");
}

/* ---- Running ------------------------------------------------------------------------------------- */

static json_t *settings_json(const struct arguments *args, const struct eval_engine *engine,
                             const struct choice_items *items)
{
    const struct generate_rules *r = &args->rules;
    const struct answer_rules *a = &args->answers;
    json_t *json = eval_settings_json(engine, &args->options, &args->eval_options);
    json_t *until = json_array(), *ignored = json_array();
    for (size_t i = 0; i < r->n_until; i++)
        json_array_append_new(until, cli_json_text(r->until[i]));
    for (size_t i = 0; i < a->n_ignore_regexes; i++)
        json_array_append_new(ignored, cli_json_text(a->ignore_regexes[i]));
    json_t *own = json_pack(
        "{sI sI so sf sI sf sf sf so sI so so sb sb sb ss}", "n_ctx", (json_int_t)args->max_length,
        "max_tokens", (json_int_t)r->max_tokens, "until", until, "temperature",
        r->sampling.temperature, "top_k", (json_int_t)r->sampling.top_k, "top_p", r->sampling.top_p,
        "min_p", r->sampling.min_p, "repeat_penalty", r->sampling.repetition_penalty, "regex",
        cli_json_text(a->pattern), "group", (json_int_t)a->group_select, "fallback",
        cli_json_text(a->fallback), "ignore_regexes", ignored, "ignore_case", a->ignore_case,
        "ignore_punctuation", a->ignore_punctuation, "ignore_numbers", a->ignore_numbers,
        "items_sha256", items->text_sha256);
    json_object_update(json, own);
    json_decref(own);
    chat_options_add_settings(&args->chat, json);
    return json;
}

static bool run_requests(const struct arguments *args, struct eval_run *run,
                         struct eval_engine *engine, const struct choice_items *items,
                         const size_t *chosen, struct generate_requests *requests,
                         struct rml_error *err)
{
    struct generate_result result = {0};
    json_t *settings = settings_json(args, engine, items);
    char *text = json_dumps(settings, JSON_COMPACT);
    const struct eval_task task = {
        .name = "generate", .protocol = "lm-eval", .engine = engine, .settings_json = text};
    bool ok = eval_run_begin(run, &args->options, &args->eval_options, err) &&
              eval_run_add_task(run, &task, err) &&
              generate_all(run, &task, &args->rules, requests->requests, requests->n, err) &&
              generate_result_init(&result, engine, &args->rules, &args->judge, items, chosen,
                                   requests, err) &&
              generate_result_store(&result, &args->judge, run, &task, items, err) &&
              write_items(args, &result, requests, err);
    bool to_stdout = args->items_file && strcmp(args->items_file, "-") == 0;
    if (ok && args->options.json)
        print_json(&result, settings);
    else if (ok)
        print_lines(&result, to_stdout ? stderr : stdout);
    if (ok && !args->items_file)
        tell_where(run);
    generate_result_release(&result);
    free(text);
    json_decref(settings);
    return ok;
}

static bool run_items(struct arguments *args, struct eval_run *run, struct eval_engine *engine,
                      const struct choice_items *items, struct rml_error *err)
{
    size_t *chosen = NULL, n = 0, n_context = eval_engine_n_context(engine);
    struct generate_requests requests = {0};
    args->max_length = args->options.ctx ? args->options.ctx : n_context;
    if (args->options.ctx > n_context)
        cli_warn("the context of %zu is longer than the %zu token%s that the model was made for",
                 args->options.ctx, n_context, cli_plural(n_context));
    args->rules.until = args->until;
    if (args->rules.max_tokens >= args->max_length)
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                         "--max-tokens %zu leaves no room for a prompt in a context of %zu",
                         args->rules.max_tokens, args->max_length);
    bool ok = eval_engine_need_tokenizer(engine, err) &&
              chat_options_settle(&args->chat, engine, err) &&
              selection_apply(&args->eval_options.selection, args->options.seed, items->n, &chosen,
                              &n, err) &&
              generate_requests_init(&requests, engine, &args->rules, &args->chat, items, chosen, n,
                                     args->max_length, args->options.seed, err) &&
              run_requests(args, run, engine, items, chosen, &requests, err);
    generate_requests_release(&requests);
    free(chosen);
    return ok;
}

/* The one pipeline of the options: --regex, or the reply as it is. */
static bool make_judge(struct arguments *args, struct rml_error *err)
{
    struct answer_judge *judge = &args->judge;
    struct answer_pipeline *pipeline = &judge->pipelines[0];
    judge->n = 1;
    judge->exact_match = answer_matcher_create(&args->answers, err);
    if (!judge->exact_match || !args->answers.pattern)
        return judge->exact_match;
    pipeline->n_steps = 1;
    pipeline->steps[0].kind = STEP_REGEX;
    pipeline->steps[0].matcher = answer_matcher_create(&args->answers, err);
    return pipeline->steps[0].matcher;
}

int eval_generate_main(int argc, char **argv)
{
    struct arguments args = {
        .rules = {.max_tokens = 256, .n_batch = 16, .sampling = RML_SAMPLER_DEFAULTS},
        .answers = {.fallback = "[invalid]"}};
    args.rules.sampling.temperature = 0;
    cli_parse(&args.options,
              CLI_OPT_RUN_MODEL | CLI_OPT_CTX | CLI_OPT_DB | CLI_OPT_JSON | CLI_OPT_SEED,
              &generate_argp, argc, argv, &args);
    struct rml_error err = RML_ERROR_INIT;
    struct eval_run run = {0};
    struct choice_items items = {0};
    const struct choice_fields fields = CHOICE_FIELDS_DEFAULT;
    struct rml_thread_pool *pool = NULL;
    if (make_judge(&args, &err) &&
        choice_items_read(&items, args.file, LAYOUT_ANSWERS, &fields, &err))
        pool = rml_thread_pool_create(args.options.threads, &err);
    struct eval_engine engine = {0};
    const struct eval_settings settings = eval_settings_of(&args.options);
    if (pool && eval_engine_init(&engine, args.checkpoint, &settings, pool, &err))
        run_items(&args, &run, &engine, &items, &err);
    eval_engine_release(&engine);
    int code = eval_run_end(&run, eval_exit(&err, CLI_PASS));
    rml_thread_pool_destroy(pool);
    choice_items_release(&items);
    answer_judge_release(&args.judge);
    return code;
}
