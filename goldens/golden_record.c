/*
 * rml-golden record: writes what a checkpoint computes now as a golden file.
 */
#include "goldens/golden_commands.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "goldens/golden_capture.h"
#include "goldens/golden_json.h"
#include "goldens/golden_name.h"
#include "goldens/golden_run.h"
#include "goldens/golden_text.h"
#include "tools/cli/build_info.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/json_out.h"
#include "tools/cli/options.h"
#include "tools/cli/output.h"
#include "tools/cli/output_names.h"
#include "tools/cli/parse.h"
#include "tools/cli/report.h"

/*
 * Tolerances of a recorded file. Where the same sums are added in the same order the numbers
 * have the same bits; these leave room for a machine that rounds otherwise. Measured distance
 * from float64 on real checkpoints of 18 and 30 layers: logits 8e-5, fingerprints 5e-6.
 */
#define RECORD_LOGIT_ABS 1e-3
#define RECORD_RESIDUAL_REL 2e-5

enum {
    KEY_TOKENS = CLI_OWN_KEY,
    KEY_TEXT,
    KEY_MESSAGES,
    KEY_CHAT_FORMAT,
    KEY_NO_SPECIAL,
    KEY_CASE,
    KEY_NAME,
    KEY_TOP,
    KEY_ALL_LOGITS,
    KEY_GREEDY,
    KEY_NO_RESIDUAL,
    KEY_TOLERANCE,
    KEY_RESIDUAL_REL,
    KEY_FORCE
};

/* Where a case's tokens come from. */
struct request {
    const char *option;        /* "--tokens", "--text", "--messages" */
    const char *messages_file; /* NULL: no messages */
};

struct record {
    struct cli_options options;
    const char *checkpoint, *output, *name;
    const char *chat_format;  /* NULL: the template's */
    bool force;               /* an existing file is replaced */
    bool no_special;          /* texts without BOS and the like */
    struct golden golden;     /* cases hold name and source, or tokens */
    struct request *requests; /* [golden.n_cases] */
    struct golden_run run;
    char *case_name; /* of the next case */
    struct golden_capture_settings capture;
};

static const struct argp_option record_options[] = {
    {"tokens", KEY_TOKENS, "IDS", 0, "A case: token ids separated by commas (any number of times)",
     0},
    {"text", KEY_TEXT, "TEXT", 0,
     "A case: a text, whose special-token text stays text (any number of times)", 0},
    {"messages", KEY_MESSAGES, "FILE", 0,
     "A case: a chat up to the opening of the assistant's turn, from a JSON array of "
     "{\"role\", \"content\"} (any number of times)",
     0},
    {"chat-format", KEY_CHAT_FORMAT, "NAME", 0,
     "Format of all --messages (that of the checkpoint's template)", 0},
    {"no-special", KEY_NO_SPECIAL, NULL, 0, "Add neither BOS nor EOS to any --text", 0},
    {"case", KEY_CASE, "NAME", 0, "Name of the case that follows (case-1, case-2, ...)", 0},
    {"output", 'o', "FILE", 0, "Write here; - is standard output", 0},
    {"force", KEY_FORCE, NULL, 0, "Replace FILE if it exists", 0},
    {"name", KEY_NAME, "NAME", 0, "Name of the golden (the checkpoint's)", 0},
    {"top", KEY_TOP, "N", 0, "Keep the N greatest logits of each position (8)", 0},
    {"all-logits", KEY_ALL_LOGITS, NULL, 0, "Keep every logit", 0},
    {"greedy", KEY_GREEDY, "N", 0, "Greedy steps after the prompt (8)", 0},
    {"no-residual", KEY_NO_RESIDUAL, NULL, 0,
     "Keep no fingerprints of the residual stream: a smaller file, whose check cannot name a layer",
     0},
    {"tolerance", KEY_TOLERANCE, "X", 0, "What a logit or logsumexp may differ (0.001)", 0},
    {"residual-rel", KEY_RESIDUAL_REL, "X", 0,
     "What a fingerprint may differ, relative to its norm (0.00002)", 0},
    {0},
};

static void check_name(struct argp_state *state, const char *option, const char *name)
{
    const char *fault = golden_name_fault(name, strlen(name), GOLDEN_NAME_NBYTES);
    if (fault)
        argp_error(state, "%s: %s found, expected a name of at most %d bytes", option, fault,
                   GOLDEN_NAME_NBYTES);
}

/* The name of the next case, which it takes. */
static struct golden_case *add_case(struct argp_state *state, struct record *record,
                                    const char *option)
{
    struct golden *golden = &record->golden;
    struct golden_case *c = &golden->cases[golden->n_cases];
    record->requests[golden->n_cases].option = option;
    c->name = record->case_name;
    record->case_name = NULL;
    if (!c->name && asprintf(&c->name, "case-%zu", golden->n_cases + 1) < 0)
        argp_failure(state, CLI_ERROR, 0, "no memory for a name");
    for (size_t i = 0; i < golden->n_cases; i++)
        if (strcmp(golden->cases[i].name, c->name) == 0)
            argp_error(state, "--case: '%s' found twice", c->name);
    golden->n_cases++;
    return c;
}

static void add_tokens(struct argp_state *state, struct record *record, const char *ids)
{
    struct golden_case *c = add_case(state, record, "--tokens");
    const char *bad;
    if (!cli_parse_ids(ids, &c->tokens, &c->n_tokens, &bad))
        argp_error(state, "--tokens: '%.40s' found, expected token ids separated by commas", bad);
}

static void add_text(struct argp_state *state, struct record *record, const char *text)
{
    struct golden_source *source = &add_case(state, record, "--text")->source;
    json_t *json = json_string(text);
    if (!json)
        argp_error(state, "--text: bytes found that are no UTF-8, which no golden file can hold");
    json_decref(json);
    source->text_nbytes = strlen(text);
    source->text = strdup(text);
    if (!source->text)
        argp_failure(state, CLI_ERROR, 0, "no memory for a text");
}

static void set_chat_format(struct argp_state *state, struct record *record, const char *name)
{
    char known[1024];
    rml_chat_format_list(known, sizeof known);
    if (!rml_chat_format_by_name(name))
        argp_error(state, "--chat-format: '%.40s' found, expected one of: %s", name, known);
    record->chat_format = name;
}

static bool has_request(const struct record *record, const char *option)
{
    for (size_t i = 0; i < record->golden.n_cases; i++)
        if (strcmp(record->requests[i].option, option) == 0)
            return true;
    return false;
}

static void check_request(struct argp_state *state, const struct record *record)
{
    if (!record->checkpoint)
        argp_error(state, "expected a checkpoint");
    if (record->golden.n_cases == 0)
        argp_error(state, "expected at least one --tokens, --text or --messages");
    if (!record->output)
        argp_error(state, "expected -o FILE");
    if (record->options.json && strcmp(record->output, "-") == 0)
        argp_error(state, "--json and -o - exclude each other");
    if (record->case_name)
        argp_error(state, "--case: '%s' found, expected a case after it", record->case_name);
    if (record->chat_format && !has_request(record, "--messages"))
        argp_error(state, "--chat-format found, expected --messages");
    if (record->no_special && !has_request(record, "--text"))
        argp_error(state, "--no-special found, expected --text");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct record *record = state->input;
    switch (key) {
    case KEY_TOKENS:
        add_tokens(state, record, arg);
        return 0;
    case KEY_TEXT:
        add_text(state, record, arg);
        return 0;
    case KEY_MESSAGES:
        add_case(state, record, "--messages");
        record->requests[record->golden.n_cases - 1].messages_file = arg;
        return 0;
    case KEY_CHAT_FORMAT:
        set_chat_format(state, record, arg);
        return 0;
    case KEY_NO_SPECIAL:
        record->no_special = true;
        return 0;
    case KEY_CASE:
        check_name(state, "--case", arg);
        free(record->case_name);
        record->case_name = strdup(arg);
        if (!record->case_name)
            argp_failure(state, CLI_ERROR, 0, "no memory for a name");
        return 0;
    case 'o':
        record->output = cli_arg_output(state, "-o", arg);
        return 0;
    case KEY_FORCE:
        record->force = true;
        return 0;
    case KEY_NAME:
        check_name(state, "--name", arg);
        record->name = arg;
        return 0;
    case KEY_TOP:
        record->capture.n_top = (size_t)cli_arg_u64(state, "--top", arg, 1, INT32_MAX);
        return 0;
    case KEY_ALL_LOGITS:
        record->capture.all_logits = true;
        return 0;
    case KEY_GREEDY:
        record->capture.n_greedy = (size_t)cli_arg_u64(state, "--greedy", arg, 0, 100000);
        return 0;
    case KEY_NO_RESIDUAL:
        record->capture.residual = false;
        return 0;
    case KEY_TOLERANCE:
        record->golden.logit_abs = record->golden.logsumexp_abs =
            cli_arg_f64(state, "--tolerance", arg, 0, 1e30);
        return 0;
    case KEY_RESIDUAL_REL:
        record->golden.residual_rel = cli_arg_f64(state, "--residual-rel", arg, 0, 1e30);
        return 0;
    case ARGP_KEY_ARG:
        if (record->checkpoint)
            argp_error(state, "'%s' found, expected one checkpoint only", arg);
        record->checkpoint = arg;
        return 0;
    case ARGP_KEY_END:
        check_request(state, record);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp record_argp = {
    .options = record_options,
    .parser = parse,
    .args_doc = "CHECKPOINT CASE... -o FILE",
    .doc = "Writes what the checkpoint computes now as a golden file: logits and their logsumexp "
           "at each position, a greedy continuation, and fingerprints of the residual stream after "
           "each branch of each layer, by which a later check names where it first deviates. A "
           "CASE is one of --tokens IDS, --text TEXT and --messages FILE.\v"
           "Examples: ids, and a text beside a chat, which keep what their ids are the ids of:\n\n"
           "  rml-golden record model.gguf --case fact --tokens 504,3575 -o fact.json\n"
           "  rml-golden record model.gguf --text 'The capital of France is' \\\n"
           "      --messages chat.json -o two.json"};

/* The file's or folder's name, without what every checkpoint has; "unnamed" when that can be no
 * name. */
static char *default_name(const char *checkpoint)
{
    char *copy = strdup(checkpoint);
    if (!copy)
        return NULL;
    size_t n = strlen(copy);
    while (n > 1 && copy[n - 1] == '/')
        copy[--n] = 0;
    if (n > 5 && strcmp(copy + n - 5, ".gguf") == 0)
        copy[n - 5] = 0;
    char *slash = strrchr(copy, '/');
    const char *last = slash && slash[1] ? slash + 1 : copy;
    bool fits = !golden_name_fault(last, strlen(last), GOLDEN_NAME_NBYTES);
    char *name = strdup(fits ? last : "unnamed");
    free(copy);
    return name;
}

static bool fill_head(struct record *record, struct golden_engine *engine, struct rml_error *err)
{
    struct golden *golden = &record->golden;
    const struct cli_options *options = &record->options;
    if (!golden_engine_hash(engine, err))
        return false;
    strcpy(golden->model_sha256, engine->sha256);
    golden->model_arch = strdup(rml_model_config(engine->model)->architecture);
    golden->name = record->name ? strdup(record->name) : default_name(record->checkpoint);
    golden->source_engine = strdup("rml");
    golden->source_version = strdup(build_info.version);
    golden->source_dtype = strdup("float32");
    golden->arithmetic = options->arithmetic_given ? options->arithmetic : RML_ARITHMETIC_F32;
    golden->k_dtype = options->kv_given ? options->k_dtype : RML_KV_F32;
    golden->v_dtype = options->kv_given ? options->v_dtype : RML_KV_F32;
    return (golden->model_arch && golden->name && golden->source_engine && golden->source_version &&
            golden->source_dtype) ||
           rmli_fail(err, RML_NO_MEMORY, record->checkpoint, -1, "no memory for names");
}

/* A number that is not finite is no reference: said with its place, and nothing is written. */
static int refuse_nonfinite(const struct record *record, const struct golden_case *c,
                            const struct golden_deviation *deviation)
{
    char text[256];
    golden_deviation_text(deviation, text, sizeof text);
    cli_fail(RML_FORMAT, record->checkpoint, "%s: %s", c->name, text);
    return CLI_MISMATCH;
}

/* A golden that was recorded once is a reference: it is not lost to a repeated command. An empty
 * file, as mktemp makes it, is none. */
static bool check_free(const struct record *record, struct rml_error *err)
{
    struct stat st;
    if (record->force || strcmp(record->output, "-") == 0 || stat(record->output, &st) != 0 ||
        !S_ISREG(st.st_mode) || st.st_size == 0)
        return true;
    return rmli_fail(err, RML_INVALID_ARGUMENT, record->output, -1,
                     "the file exists, expected a new name (or --force to replace it)");
}

/* Before any work, so that a bad file costs nothing. */
static bool load_messages(struct record *record, struct rml_error *err)
{
    for (size_t i = 0; i < record->golden.n_cases; i++) {
        const char *path = record->requests[i].messages_file;
        if (!path)
            continue;
        struct golden_source *source = &record->golden.cases[i].source;
        const struct golden_reader r = {.file = golden_display_name(path), .err = err};
        json_t *array = golden_load_value(&r, path, NULL);
        bool ok = array && rml_conversation_from_json(&source->conversation, array, r.file, err);
        json_decref(array);
        if (!ok)
            return false;
        if (record->chat_format && !(source->chat_format = strdup(record->chat_format)))
            return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a name");
    }
    return true;
}

/* Whether `why` is that the checkpoint's template names no chat format that is known. */
static bool lacks_format(struct golden_engine *engine, const struct golden_source *source,
                         const struct rml_error *why)
{
    return source->conversation.n > 0 && !source->chat_format &&
           golden_engine_tokenizer(engine, NULL) &&
           (why->code == RML_NOT_FOUND || why->code == RML_UNSUPPORTED);
}

/* Some formats write a role as it stands, a misspelt one too, of which the model knows nothing. */
static void warn_of_roles(const struct record *record, size_t i)
{
    const struct rml_conversation *chat = &record->golden.cases[i].source.conversation;
    for (size_t k = 0; k < chat->n; k++) {
        const char *role = chat->messages[k].role;
        if (strcmp(role, "system") != 0 && strcmp(role, "user") != 0 &&
            strcmp(role, "assistant") != 0)
            cli_warn("%s: messages[%zu]: role '%.60s' is none of system, user and assistant; it is "
                     "written as it stands",
                     golden_display_name(record->requests[i].messages_file), k, role);
    }
}

/* The ids of text and messages; the tokenizer is not looked at when there are none. */
static bool encode_sources(struct record *record, struct golden_engine *engine,
                           struct rml_error *err)
{
    for (size_t i = 0; i < record->golden.n_cases; i++) {
        struct golden_case *c = &record->golden.cases[i];
        struct rml_ids ids = {0};
        struct rml_error why = RML_ERROR_INIT;
        if (!golden_case_has_text(c))
            continue;
        c->source.add_special = !record->no_special;
        if (!golden_encode_text(engine, &c->source, &ids, &why)) {
            rml_ids_release(&ids);
            const char *file = why.file[0] ? why.file : record->checkpoint;
            return rmli_fail(err, why.code, file, why.offset, "%s: %s%s",
                             record->requests[i].option, why.message,
                             lacks_format(engine, &c->source, &why)
                                 ? "; expected a known one, or --chat-format NAME"
                                 : "");
        }
        c->tokens = ids.ids;
        c->n_tokens = ids.n;
        warn_of_roles(record, i);
    }
    return true;
}

/* The ids are the user's, not a file's. */
static bool tokens_fit(const struct record *record, const struct rml_model_config *config,
                       struct rml_error *err)
{
    const struct golden *golden = &record->golden;
    for (size_t i = 0; i < golden->n_cases; i++) {
        const struct golden_case *c = &golden->cases[i];
        const char *option = record->requests[i].option;
        if (c->n_tokens == 0)
            return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                             "%s: no tokens found, expected at least one", option);
        for (size_t j = 0; j < c->n_tokens; j++)
            if ((uint32_t)c->tokens[j] >= config->n_vocab)
                return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                                 "%s: id %d found, the vocabulary has %u ids", option,
                                 (int)c->tokens[j], config->n_vocab);
        if (golden_case_max_tokens(c) > config->n_context)
            return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                             "%s: %zu tokens and %zu greedy steps found, the model has %u "
                             "positions",
                             option, c->n_tokens, c->n_greedy, config->n_context);
    }
    return true;
}

/* Nothing is left behind on failure. */
static bool write_file(const struct record *record, const char *isa, struct rml_error *err)
{
    struct cli_output output;
    if (!cli_output_open(&output, record->output, err))
        return false;
    golden_write(&record->golden, isa, output.stream);
    if (ftello(output.stream) > (off_t)GOLDEN_FILE_MAX_NBYTES) { /* of a pipe: -1 */
        cli_output_abandon(&output);
        return rmli_fail(err, RML_UNSUPPORTED, record->output, -1,
                         "golden of more than %zu MiB, which no check would read; expected fewer "
                         "tokens, or --top",
                         GOLDEN_FILE_MAX_NBYTES >> 20);
    }
    return cli_output_commit(&output, err);
}

static void print_document(const struct record *record)
{
    json_t *document = json_pack("{s:o, s:s, s:I}", "file", cli_json_text(record->output), "name",
                                 record->golden.name, "cases", (json_int_t)record->golden.n_cases);
    if (document)
        cli_json_print(document, 9);
    json_decref(document);
}

static int record_all(struct record *record, struct golden_engine *engine, struct rml_error *err)
{
    struct golden *golden = &record->golden;
    if (!fill_head(record, engine, err))
        return CLI_ERROR;
    for (size_t i = 0; i < golden->n_cases; i++)
        golden->cases[i].n_greedy = record->capture.n_greedy;
    bool ok = encode_sources(record, engine, err) &&
              tokens_fit(record, rml_model_config(engine->model), err) &&
              golden_engine_configure(engine, golden->arithmetic, golden->k_dtype, golden->v_dtype,
                                      golden_max_tokens(golden), err);
    for (size_t i = 0; ok && i < golden->n_cases; i++) {
        struct golden_deviation nonfinite = {0};
        cli_progress("%s: case %zu of %zu", record->checkpoint, i + 1, golden->n_cases);
        ok = golden_capture_case(engine, &record->capture, &golden->cases[i], &nonfinite, err);
        if (nonfinite.kind != GOLDEN_NO_DEVIATION)
            return refuse_nonfinite(record, &golden->cases[i], &nonfinite);
    }
    if (!ok || !write_file(record, rml_isa_name(rml_context_isa(engine->context)), err))
        return err->code == RML_CANCELLED ? cli_interrupted_code() : CLI_ERROR;
    if (record->options.json)
        print_document(record);
    else if (strcmp(record->output, "-") != 0)
        cli_note("wrote %s: %zu %s", record->output, golden->n_cases,
                 golden->n_cases == 1 ? "case" : "cases");
    return CLI_PASS;
}

int golden_record_main(int argc, char **argv)
{
    struct record *record = calloc(1, sizeof *record);
    struct golden_case *cases = calloc((size_t)argc, sizeof *cases);
    struct request *requests = calloc((size_t)argc, sizeof *requests);
    if (!record || !cases || !requests) {
        free(record);
        free(cases);
        free(requests);
        return cli_fail(RML_NO_MEMORY, NULL, "no memory for the arguments");
    }
    record->golden.cases = cases;
    record->requests = requests;
    record->golden.logit_abs = record->golden.logsumexp_abs = RECORD_LOGIT_ABS;
    record->golden.residual_rel = RECORD_RESIDUAL_REL;
    record->capture = (struct golden_capture_settings){.n_top = 8, .n_greedy = 8, .residual = true};
    cli_parse(&record->options, CLI_OPT_RUN_MODEL | CLI_OPT_DB | CLI_OPT_JSON, &record_argp, argc,
              argv, record);

    struct rml_error err = RML_ERROR_INIT;
    struct golden_engine engine = {0};
    int code = CLI_ERROR;
    struct rml_thread_pool *pool = NULL;
    if (check_free(record, &err) && load_messages(record, &err) &&
        golden_run_begin(&record->run, &record->options, &err))
        pool = rml_thread_pool_create(record->options.threads, &err);
    if (pool && golden_engine_init(&engine, record->checkpoint, pool, &err))
        code = record_all(record, &engine, &err);
    if (err.code == RML_CANCELLED) {
        cli_note("interrupted, nothing was written");
        code = cli_interrupted_code();
    } else if (code == CLI_ERROR) {
        cli_error(&err);
    }
    code = golden_run_end(&record->run, code);
    cli_progress_clear();
    golden_engine_release(&engine);
    rml_thread_pool_destroy(pool);
    golden_release(&record->golden);
    free(requests);
    free(record);
    return code;
}
