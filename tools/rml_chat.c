/*
 * rml-chat: a conversation with a checkpoint.
 */
#include <string.h>

#include "chat_program.h"
#include "tools/cli/byte_input.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/json_out.h"
#include "tools/cli/parse.h"
#include "tools/cli/report.h"
#include "tools/cli/stored_run.h"

struct arguments {
    struct chat_settings settings;
    struct cli_options common;
    const char *prompt; /* NULL: a conversation */
};

/* ---- The command line ---------------------------------------------------------------- */

enum {
    KEY_SYSTEM = CLI_OWN_KEY,
    KEY_CHAT_FORMAT,
    KEY_RAW,
    KEY_TEMP,
    KEY_TOP_K,
    KEY_TOP_P,
    KEY_MIN_P,
    KEY_REPEAT_PENALTY,
    KEY_MAX_TOKENS,
    KEY_DRAFT,
    KEY_DRAFT_TOKENS
};

static const struct argp_option options[] = {
    {"prompt", 'p', "TEXT", 0, "Answer once and exit; -: standard input is the text", 1},
    {"system", KEY_SYSTEM, "TEXT", 0, "System message", 1},
    {"chat-format", KEY_CHAT_FORMAT, "NAME", 0,
     "Chat format, over what the checkpoint's template is recognised as (an unknown name lists "
     "the known ones)",
     1},
    {"raw", KEY_RAW, NULL, 0, "Continue plain text, each on its own, without a chat format", 1},
    {"max-tokens", KEY_MAX_TOKENS, "N", 0, "Longest reply (512)", 1},
    {"temp", KEY_TEMP, "T", 0,
     "Temperature (0.7); 0: always the most likely token, after --repeat-penalty, which still "
     "applies",
     2},
    {"top-k", KEY_TOP_K, "K", 0, "Sample from the K most likely tokens (40); 0: all", 2},
    {"top-p", KEY_TOP_P, "P", 0,
     "And of those from as many as make up the share P of probability (0.95); 1: all", 2},
    {"min-p", KEY_MIN_P, "P", 0,
     "And of those from what is at least P times as likely as the best (0.05); 0: all", 2},
    {"repeat-penalty", KEY_REPEAT_PENALTY, "X", 0,
     "Divide logits of tokens already in the conversation (1.1); 1: do not", 2},
    {"draft", KEY_DRAFT, "CHECKPOINT", 0,
     "Smaller model of the same vocabulary that guesses tokens ahead; it changes the speed, not "
     "what is likely to be said",
     3},
    {"draft-tokens", KEY_DRAFT_TOKENS, "N", 0, "Tokens it guesses at a time (4)", 3},
    {0},
};

static const struct rml_chat_format *arg_chat_format(struct argp_state *state, const char *name)
{
    const struct rml_chat_format *format = rml_chat_format_by_name(name);
    if (format)
        return format;
    char known[1024];
    rml_chat_format_list(known, sizeof known);
    argp_error(state, "--chat-format: '%.60s' found, expected one of: %s", name, known);
    return NULL;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *args = state->input;
    struct chat_settings *s = &args->settings;
    switch (key) {
    case 'p':
        args->prompt = arg;
        return 0;
    case KEY_SYSTEM:
        s->system = arg;
        return 0;
    case KEY_CHAT_FORMAT:
        s->format = arg_chat_format(state, arg);
        return 0;
    case KEY_RAW:
        s->is_raw = true;
        return 0;
    case KEY_MAX_TOKENS:
        s->max_tokens = cli_arg_u64(state, "--max-tokens", arg, 1, INT32_MAX);
        return 0;
    case KEY_TEMP:
        s->sampling.temperature = cli_arg_f64(state, "--temp", arg, 0, 1e6);
        return 0;
    case KEY_TOP_K:
        s->sampling.top_k = (int64_t)cli_arg_u64(state, "--top-k", arg, 0, INT32_MAX);
        return 0;
    case KEY_TOP_P:
        s->sampling.top_p = cli_arg_f64(state, "--top-p", arg, 1e-9, 1);
        return 0;
    case KEY_MIN_P:
        s->sampling.min_p = cli_arg_f64(state, "--min-p", arg, 0, 0.999999);
        return 0;
    case KEY_REPEAT_PENALTY:
        s->sampling.repetition_penalty = cli_arg_f64(state, "--repeat-penalty", arg, 1e-3, 1e3);
        return 0;
    case KEY_DRAFT:
        s->draft = arg;
        return 0;
    case KEY_DRAFT_TOKENS:
        s->n_draft = cli_arg_u64(state, "--draft-tokens", arg, 1, RML_MAX_DRAFT_TOKENS);
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0)
            argp_error(state, "'%s' found, expected one checkpoint (a text goes to -p)", arg);
        s->model = arg;
        return 0;
    case ARGP_KEY_END:
        if (!s->model)
            argp_error(state, "no checkpoint found, expected one");
        if (s->is_raw && (s->format || s->system))
            argp_error(state, "--raw excludes --chat-format and --system");
        if (args->common.json && !args->prompt)
            argp_error(state, "--json found without -p, expected a text to answer");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "CHECKPOINT",
    .doc =
        "Talks with a checkpoint: streams the reply to each line that is typed, or read from "
        "standard input. The chat format is recognised from the checkpoint's template."
        "\v/reset starts over, /help lists what else there is, //TEXT says /TEXT, an empty line or "
        "Ctrl-D quits, Ctrl-C stops a reply. Replies go "
        "to standard output, figures to standard error (not with -q); equal seeds and inputs "
        "give equal replies. The command line, with the text of -p, is kept in the results "
        "database unless --no-db is given.\n\n"
        "Example: a conversation, and one answer for a script:\n\n"
        "  rml-chat model.gguf --system 'Answer in one sentence.'\n"
        "  git log -1 | rml-chat model.gguf -q -p - --temp 0 >answer.txt"};

/* ---- One answer ------------------------------------------------------------------------ */

static bool read_prompt(const char *text, struct rml_bytes *out, struct rml_error *err)
{
    if (strcmp(text, "-") != 0)
        return cli_bytes_append(out, text, strlen(text), err);
    if (!cli_read_stdin(out, err))
        return false;
    /* As when it is typed, the newline that ends the last line is no part of it. */
    out->n -= out->n > 0 && out->data[out->n - 1] == '\n';
    return true;
}

static void print_json(const struct chat *chat, const struct rml_bytes *reply,
                       const struct rml_generation_stats *s)
{
    const bool drafted = chat->draft.model;
    json_t *document = json_pack(
        "{so ss so si sI sI sI so so so so}", "reply", cli_json_bytes(reply->data, reply->n),
        "finish", rml_finish_name(s->finish), "chat_format",
        cli_json_text(chat->format ? rml_chat_format_name(chat->format) : NULL), "stop_id",
        (int)s->stop_id, "n_prompt", (json_int_t)s->n_run, "n_cached", (json_int_t)s->n_reused,
        "n_generated", (json_int_t)s->n_generated, "prefill_tokens_per_second",
        cli_json_real(chat_rate(s->n_run, s->prefill_ns)), "decode_tokens_per_second",
        cli_json_real(chat_rate(s->n_generated, s->decode_ns)), "n_drafted",
        drafted ? json_integer((json_int_t)s->n_drafted) : json_null(), "n_accepted",
        drafted ? json_integer((json_int_t)s->n_accepted) : json_null());
    cli_json_print(document, 9);
    json_decref(document);
}

static int answer(struct chat *chat, const char *text, bool json)
{
    struct rml_error err = RML_ERROR_INIT;
    struct rml_bytes prompt = {0}, reply = {0};
    struct rml_generation_stats stats;
    bool ok = read_prompt(text, &prompt, &err);
    if (json)
        chat->stream = NULL;
    ok = ok && chat_say(chat, prompt.data, prompt.n, &reply, &stats, &err);
    if (chat->stream && reply.n > 0 && reply.data[reply.n - 1] != '\n')
        chat_print(chat->stream, "\n", 1);
    if (ok && json)
        print_json(chat, &reply, &stats);
    if (ok)
        chat_note_stats(chat, &stats);
    rml_bytes_release(&prompt);
    rml_bytes_release(&reply);
    if (!ok)
        return cli_error_or_interrupted(&err);
    return cli_interrupted() ? cli_interrupted_code() : CLI_PASS;
}

/* The checkpoints of the run. Reading all of one for its hash takes longer than an answer, so only
 * where it is known. */
static bool know_models(const struct chat *chat, struct store *store, int64_t run_id,
                        struct rml_error *err)
{
    const struct chat_model *models[] = {&chat->target, &chat->draft};
    for (size_t i = 0; store && i < sizeof models / sizeof models[0]; i++) {
        char hex[65];
        bool hashed = models[i]->model && models[i]->tokenizer &&
                      rml_tokenizer_content_sha256(models[i]->tokenizer, hex, NULL);
        if (models[i]->model &&
            !cli_run_add_known_model(store, run_id, models[i]->model, hashed ? hex : NULL, err))
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    cli_start(argc, argv);
    struct arguments args = {.settings = {.sampling = {.temperature = 0.7,
                                                       .top_k = 40,
                                                       .top_p = 0.95,
                                                       .min_p = 0.05,
                                                       .repetition_penalty = 1.1},
                                          .max_tokens = 512,
                                          .n_draft = 4}};
    const struct cli_options *common = &args.common;
    cli_parse(&args.common,
              CLI_OPT_RUN_MODEL | CLI_OPT_CTX | CLI_OPT_DB | CLI_OPT_JSON | CLI_OPT_SEED, &argp,
              argc, argv, &args);
    args.settings.sampling.seed = common->seed;

    struct rml_error err = RML_ERROR_INIT;
    struct store *store;
    int64_t run_id;
    if (!cli_run_begin(common, STORE_RUN_CHAT, (int64_t)(common->seed & INT64_MAX), &store, &run_id,
                       &err))
        return cli_error(&err);
    struct chat chat;
    int code = CLI_ERROR;
    if (!chat_init(&chat, &args.settings, common, &err) ||
        !know_models(&chat, store, run_id, &err)) {
        cli_error(&err);
    } else {
        chat.stream = stdout;
        chat.is_stopped = cli_interrupted;
        code = args.prompt ? answer(&chat, args.prompt, common->json) : chat_loop(&chat);
    }
    chat_release(&chat);
    return cli_run_end(store, run_id, code);
}
