/*
 * rml-eval generate: replies to prompts until a stop, and how many of them are right.
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/answer_match.h"
#include "eval/choice_items.h"
#include "eval/encode_text.h"
#include "eval/eval_commands.h"
#include "eval/eval_options.h"
#include "eval/generate_keep.h"
#include "eval/standard_errors.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/json_out.h"
#include "tools/cli/output.h"
#include "tools/cli/parse.h"
#include "tools/cli/report.h"

#define MAX_UNTIL 32

struct arguments {
    struct cli_options options;
    struct eval_options eval_options;
    struct generate_rules rules;
    struct answer_rules answers;
    const char *until[MAX_UNTIL];
    const char *checkpoint, *file, *items_file;
    const char *system, *chat_format; /* chat_format NULL with is_chat: the checkpoint's */
    bool is_chat;
    size_t max_length;
};

/* What was replied to one item. */
struct outcome {
    const struct choice_item *item;
    struct rml_bytes reply, answer;
    const char *finish;
    double exact_match; /* 0 or 1; NaN without an accepted answer */
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
    KEY_CHAT,
    KEY_SYSTEM,
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
    {"repeat-penalty", KEY_REPEAT_PENALTY, "X", 0, "Divide logits of tokens that were there (1)",
     2},
    {"chat", KEY_CHAT, "FORMAT", OPTION_ARG_OPTIONAL,
     "The context is a user's message; FORMAT over the checkpoint's own", 3},
    {"system", KEY_SYSTEM, "TEXT", 0, "With --chat: system message", 3},
    {"regex", KEY_REGEX, "PATTERN", 0, "The answer is what this matches in the reply (its group)",
     4},
    {"group", KEY_GROUP, "N", 0, "Which of its matches: 0 the first, -1 the last (0)", 4},
    {"fallback", KEY_FALLBACK, "TEXT", 0, "The answer when nothing matches ([invalid])", 4},
    {"ignore-regex", KEY_IGNORE_REGEX, "PATTERN", 0, "Cut out what matches before comparing", 4},
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
    case KEY_CHAT:
        args->is_chat = true;
        args->chat_format = arg;
        return 0;
    case KEY_SYSTEM:
        args->system = arg;
        return 0;
    case KEY_REGEX:
        args->answers.pattern = arg;
        return 0;
    case KEY_GROUP:
        args->answers.group_select = parse_group(state, arg);
        return 0;
    case KEY_FALLBACK:
        args->answers.fallback = arg;
        return 0;
    case KEY_IGNORE_REGEX:
        args->answers.ignore_regex = arg;
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
        if (args->system && !args->is_chat)
            argp_error(state, "--system found without --chat");
        if (args->options.json && args->items_file && strcmp(args->items_file, "-") == 0)
            argp_error(state, "--json and --items - both want standard output");
        return eval_options_parse(&args->eval_options, key, arg, state);
    default:
        return eval_options_parse(&args->eval_options, key, arg, state);
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
           "and not judged.\v"
           "Example: sums whose answer is the last number of the reply:\n\n"
           "  rml-eval generate model.gguf sums.jsonl --chat --regex '-?[0-9]+' --group -1\n\n"
           "with lines such as\n\n"
           "  {\"context\": \"What is 2 + 3?\", \"gold\": \"5\"}"};

/* ---- Prompts -------------------------------------------------------------------------------- */

static bool encode_item(const struct arguments *args, const struct eval_engine *engine,
                        const struct rml_chat_format *format, const struct choice_item *item,
                        struct rml_ids *ids, struct rml_error *err)
{
    const struct choice_text *context = &item->contexts[0];
    if (!format)
        return context->nbytes > 0 ? encode_text(engine, context->data, context->nbytes, ids, err)
                                   : true;
    struct rml_chat_message messages[2] = {{"system", args->system, 0}};
    size_t n = 0;
    if (args->system)
        messages[n++].content_nbytes = strlen(args->system);
    messages[n++] = (struct rml_chat_message){"user", context->data, context->nbytes};
    return rml_chat_encode(format, engine->tokenizer, messages, n, true, ids, err);
}

/* Seeds differ from item to item and depend on nothing but --seed and the id. */
static bool seed_of(uint64_t seed, const char *doc_id, uint64_t *out, struct rml_error *err)
{
    char *text, hex[65];
    if (asprintf(&text, "%llu %s", (unsigned long long)seed, doc_id) < 0)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a seed");
    bool ok = eval_sha256(text, strlen(text), hex, err);
    free(text);
    hex[16] = 0;
    *out = ok ? strtoull(hex, NULL, 16) : 0;
    return ok;
}

static bool make_request(const struct arguments *args, const struct eval_engine *engine,
                         const struct rml_chat_format *format, const struct choice_item *item,
                         struct generate_request *request, struct rml_error *err)
{
    struct rml_ids ids = {0};
    *request = (struct generate_request){.doc_id = item->doc_id};
    bool ok = encode_item(args, engine, format, item, &ids, err);
    int32_t prefix = 0;
    if (ok && ids.n == 0)
        ok = encode_prefix(engine, &prefix, err);
    const int32_t *from = ids.n > 0 ? ids.ids : &prefix;
    size_t n = ids.n > 0 ? ids.n : 1, room = args->max_length - args->rules.max_tokens;
    for (size_t i = 0; ok && i < n; i++)
        if (from[i] < 0 || (uint32_t)from[i] >= engine->n_vocab)
            ok = rmli_fail(err, RML_FORMAT, engine->name, -1,
                           "the tokenizer gives id %d, the model has %u tokens", from[i],
                           engine->n_vocab);
    if (ok && n > room) {
        request->n_truncated = n - room;
        from += n - room;
        n = room;
    }
    request->n_prompt = n;
    request->ids = ok ? malloc((n + args->rules.max_tokens) * sizeof *request->ids) : NULL;
    request->logprobs = ok ? malloc(args->rules.max_tokens * sizeof *request->logprobs) : NULL;
    if (ok && (!request->ids || !request->logprobs))
        ok = rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the prompts");
    if (ok)
        memcpy(request->ids, from, n * sizeof *from);
    rml_ids_release(&ids);
    return ok && seed_of(args->options.seed, item->doc_id, &request->seed, err);
}

/* ---- Results ----------------------------------------------------------------------------------- */

/* Text that is no UTF-8 gets U+FFFD, as Python's decoding has it. */
static bool make_outcome(const struct eval_engine *engine, const struct generate_rules *rules,
                         const struct generate_request *request, struct answer_matcher *matcher,
                         struct outcome *o, struct rml_error *err)
{
    if (!generate_text(engine, rules, request, &o->reply, &o->finish, err))
        return false;
    json_t *text = cli_json_bytes(o->reply.data, o->reply.n);
    bool ok = text ? answer_extract(matcher, json_string_value(text), json_string_length(text),
                                    &o->answer, err)
                   : rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a reply");
    json_decref(text);
    o->exact_match = o->item->n_choices > 0 ? 0 : NAN;
    for (size_t i = 0; ok && i < o->item->n_choices && o->exact_match == 0; i++) {
        bool equal = false;
        ok = answer_equals(matcher, o->answer.data, o->answer.n, o->item->choices[i].data,
                           o->item->choices[i].nbytes, &equal, err);
        o->exact_match = equal;
    }
    return ok;
}

static bool write_items(const struct arguments *args, const struct outcome *outcomes,
                        const struct generate_request *requests, size_t n, struct rml_error *err)
{
    struct cli_output output;
    if (!args->items_file)
        return true;
    if (!cli_output_open(&output, args->items_file, err))
        return false;
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        const struct outcome *o = &outcomes[i];
        double loglik = 0;
        for (size_t t = 0; t < requests[i].n_generated; t++)
            loglik += requests[i].logprobs[t];
        json_t *gold = o->item->gold;
        json_t *line = json_pack(
            "{sO so so sO so ss sI sI so}", "id", o->item->id, "reply",
            cli_json_bytes(o->reply.data, o->reply.n), "answer",
            cli_json_bytes(o->answer.data, o->answer.n), "gold", gold ? gold : json_null(),
            "exact_match", isnan(o->exact_match) ? json_null() : json_integer((int)o->exact_match),
            "finish", o->finish, "n_tokens", (json_int_t)requests[i].n_generated, "truncated",
            (json_int_t)requests[i].n_truncated, "loglik", cli_json_real(loglik));
        ok = line && json_dumpf(line, output.stream, JSON_COMPACT | JSON_REAL_PRECISION(17)) == 0 &&
             fputc('\n', output.stream) != EOF;
        json_decref(line);
    }
    if (ok)
        return cli_output_commit(&output, err);
    cli_output_abandon(&output);
    return rmli_fail(err, RML_IO, args->items_file, -1, "cannot be written");
}

static bool store_docs(struct eval_run *run, const struct eval_task *task,
                       const struct choice_items *items, const struct outcome *outcomes, size_t n,
                       struct rml_error *err)
{
    static const char *const metrics[] = {"exact_match"};
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        const struct outcome *o = &outcomes[i];
        char *gold = o->item->gold ? json_dumps(o->item->gold, JSON_ENCODE_ANY) : NULL;
        const struct store_eval_doc doc = {.task = task->name,
                                           .doc_id = o->item->doc_id,
                                           .doc_idx = o->item - items->items,
                                           .group_key = o->item->group,
                                           .text = o->item->contexts[0].data,
                                           .gold_json = gold,
                                           .metrics = metrics,
                                           .values = &o->exact_match,
                                           .n_metrics = 1};
        ok = store_add_eval_docs(run->store, run->run_id, &doc, 1, err);
        free(gold);
    }
    return ok;
}

static bool report(const struct arguments *args, struct eval_run *run, const struct eval_task *task,
                   const struct outcome *outcomes, const struct generate_request *requests,
                   size_t n, json_t *settings, struct rml_error *err)
{
    size_t n_judged = 0, n_truncated = 0, n_tokens = 0;
    double *judged = malloc((n + 1) * sizeof *judged);
    if (!judged)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the results");
    for (size_t i = 0; i < n; i++) {
        n_truncated += requests[i].n_truncated > 0;
        n_tokens += requests[i].n_generated;
        if (!isnan(outcomes[i].exact_match))
            judged[n_judged++] = outcomes[i].exact_match;
    }
    double mean = mean_of(judged, n_judged), se = mean_standard_error(judged, n_judged);
    free(judged);
    if (!eval_run_metric(run, task, "exact_match", mean, se, (int64_t)n_judged, err) ||
        !write_items(args, outcomes, requests, n, err))
        return false;
    FILE *out = args->items_file && strcmp(args->items_file, "-") == 0 ? stderr : stdout;
    if (args->options.json) {
        json_t *json = json_pack(
            "{sI sI so so sI sI sO}", "n", (json_int_t)n, "n_judged", (json_int_t)n_judged,
            "exact_match", cli_json_real(mean), "exact_match_stderr", cli_json_real(se), "n_tokens",
            (json_int_t)n_tokens, "n_truncated", (json_int_t)n_truncated, "settings", settings);
        cli_json_print(json, 17);
        json_decref(json);
        return true;
    }
    fprintf(out, "%-16s %zu, of %zu tokens", "replies", n, n_tokens);
    fprintf(out, n_truncated ? ", contexts cut from the left %zu\n" : "\n", n_truncated);
    if (n_judged > 0)
        fprintf(out, "%-16s %.4f", "exact_match", mean);
    if (n_judged > 0 && !isnan(se))
        fprintf(out, " +- %.4f", se);
    if (n_judged > 0)
        fputc('\n', out);
    return true;
}

/* ---- Running ------------------------------------------------------------------------------------- */

static json_t *settings_json(const struct arguments *args, const struct eval_engine *engine,
                             const struct rml_chat_format *format, const struct choice_items *items)
{
    const struct generate_rules *r = &args->rules;
    const struct answer_rules *a = &args->answers;
    json_t *json = eval_settings_json(engine, &args->options, &args->eval_options);
    json_t *until = json_array();
    for (size_t i = 0; i < r->n_until; i++)
        json_array_append_new(until, cli_json_text(r->until[i]));
    json_t *own =
        json_pack("{sI sI so sf sI sf sf sf so so so sI ss so sb sb sb ss}", "n_ctx",
                  (json_int_t)args->max_length, "max_tokens", (json_int_t)r->max_tokens, "until",
                  until, "temperature", r->sampling.temperature, "top_k",
                  (json_int_t)r->sampling.top_k, "top_p", r->sampling.top_p, "min_p",
                  r->sampling.min_p, "repeat_penalty", r->sampling.repetition_penalty,
                  "chat_format", cli_json_text(format ? rml_chat_format_name(format) : NULL),
                  "system", cli_json_text(args->system), "regex", cli_json_text(a->pattern),
                  "group", (json_int_t)a->group_select, "fallback", a->fallback, "ignore_regex",
                  cli_json_text(a->ignore_regex), "ignore_case", a->ignore_case,
                  "ignore_punctuation", a->ignore_punctuation, "ignore_numbers", a->ignore_numbers,
                  "items_sha256", items->text_sha256);
    json_object_update(json, own);
    json_decref(own);
    return json;
}

static bool run_requests(const struct arguments *args, struct eval_run *run,
                         struct eval_engine *engine, const struct rml_chat_format *format,
                         const struct choice_items *items, struct answer_matcher *matcher,
                         struct generate_request *requests, struct outcome *outcomes, size_t n,
                         struct rml_error *err)
{
    json_t *settings = settings_json(args, engine, format, items);
    char *text = json_dumps(settings, JSON_COMPACT);
    const struct eval_task task = {
        .name = "generate", .protocol = "lm-eval", .engine = engine, .settings_json = text};
    bool ok = eval_run_begin(run, &args->options, args->eval_options.fresh, err) &&
              eval_run_add_task(run, &task, err) &&
              generate_all(run, &task, &args->rules, requests, n, err);
    for (size_t i = 0; ok && i < n; i++)
        ok = make_outcome(engine, &args->rules, &requests[i], matcher, &outcomes[i], err);
    ok = ok && store_docs(run, &task, items, outcomes, n, err) &&
         report(args, run, &task, outcomes, requests, n, settings, err);
    free(text);
    json_decref(settings);
    return ok;
}

static bool find_format(const struct arguments *args, const struct eval_engine *engine,
                        const struct rml_chat_format **format, struct rml_error *err)
{
    *format = NULL;
    if (!args->is_chat)
        return true;
    *format =
        args->chat_format
            ? rml_chat_format_by_name(args->chat_format)
            : rml_chat_format_of_template(rml_tokenizer_chat_template(engine->tokenizer), err);
    return *format || rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                                "--chat: '%s' found, expected a known chat format",
                                args->chat_format ? args->chat_format : "");
}

static bool run_items(struct arguments *args, struct eval_run *run, struct eval_engine *engine,
                      const struct choice_items *items, struct answer_matcher *matcher,
                      struct rml_error *err)
{
    const struct rml_chat_format *format;
    size_t *chosen = NULL, n = 0, n_context = eval_engine_n_context(engine);
    struct rml_ids stops = {0};
    args->max_length = args->options.ctx ? args->options.ctx : n_context;
    if (args->options.ctx > n_context)
        cli_warn("the context of %zu is longer than the %zu tokens that the model was made for",
                 args->options.ctx, n_context);
    if (args->rules.max_tokens >= args->max_length)
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                         "--max-tokens %zu leaves no room for a prompt in a context of %zu",
                         args->rules.max_tokens, args->max_length);
    bool ok =
        eval_engine_need_tokenizer(engine, err) && find_format(args, engine, &format, err) &&
        rml_stop_ids(rml_model_checkpoint(engine->model), engine->tokenizer, format, &stops, err) &&
        selection_apply(&args->eval_options.selection, args->options.seed, items->n, &chosen, &n,
                        err);
    args->rules.stop_ids = stops.ids;
    args->rules.n_stop_ids = stops.n;
    args->rules.until = args->until;
    struct generate_request *requests = calloc(n + 1, sizeof *requests);
    struct outcome *outcomes = calloc(n + 1, sizeof *outcomes);
    if (ok && (!requests || !outcomes))
        ok = rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %zu prompts", n);
    for (size_t i = 0; ok && i < n; i++) {
        outcomes[i].item = &items->items[chosen[i]];
        ok = make_request(args, engine, format, outcomes[i].item, &requests[i], err);
    }
    ok = ok && run_requests(args, run, engine, format, items, matcher, requests, outcomes, n, err);
    for (size_t i = 0; i < n && requests && outcomes; i++) {
        free(requests[i].ids);
        free(requests[i].logprobs);
        rml_bytes_release(&outcomes[i].reply);
        rml_bytes_release(&outcomes[i].answer);
    }
    free(requests);
    free(outcomes);
    free(chosen);
    rml_ids_release(&stops);
    return ok;
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
    struct answer_matcher *matcher = answer_matcher_create(&args.answers, &err);
    struct rml_thread_pool *pool = NULL;
    if (matcher && choice_items_read(&items, args.file, LAYOUT_ANSWERS, &fields, &err))
        pool = rml_thread_pool_create(args.options.threads, &err);
    struct eval_engine engine = {0};
    const struct eval_settings settings = eval_settings_of(&args.options);
    if (pool && eval_engine_init(&engine, args.checkpoint, &settings, pool, &err))
        run_items(&args, &run, &engine, &items, matcher, &err);
    eval_engine_release(&engine);
    int code = eval_run_end(&run, eval_exit(&err, CLI_PASS));
    rml_thread_pool_destroy(pool);
    choice_items_release(&items);
    answer_matcher_destroy(matcher);
    return code;
}
