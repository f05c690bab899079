/*
 * rml-tokenize: text to ids and back, with the tokenizer of a checkpoint.
 */
#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tokenize.h"
#include "tools/cli/byte_input.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/json_out.h"
#include "tools/cli/options.h"
#include "tools/cli/report.h"

struct arguments {
    const char *tokenizer, *text, *pre;
    bool jsonl, decode, no_special, parse_special, pieces;
};

bool tokenize_encode(const struct tokenize_job *job, const char *text, size_t nbytes,
                     struct rml_ids *out, struct rml_error *err)
{
    unsigned flags =
        (job->no_special ? 0U : RML_ADD_SPECIAL) | (job->parse_special ? RML_PARSE_SPECIAL : 0U);
    return rml_tokenizer_encode(job->tokenizer, text, nbytes, flags, out, err);
}

bool tokenize_decode(const struct tokenize_job *job, const struct rml_ids *ids,
                     struct rml_bytes *out, struct rml_error *err)
{
    return rml_tokenizer_decode(job->tokenizer, ids->ids, ids->n, job->no_special, out, err);
}

/* ---- One text or list of ids ---------------------------------------------------------- */

static bool read_all(const struct arguments *args, struct rml_bytes *out, struct rml_error *err)
{
    return args->text ? cli_bytes_append(out, args->text, strlen(args->text), err)
                      : cli_read_stdin(out, err);
}

static bool is_separator(char c)
{
    return c == ',' || isspace((unsigned char)c);
}

/* Ids separated by white space or commas. */
static bool parse_ids(const struct tokenize_job *job, const struct rml_bytes *text,
                      struct rml_ids *ids, struct rml_error *err)
{
    size_t line = 1, n_vocab = rml_tokenizer_n_vocab(job->tokenizer);
    for (size_t i = 0; i < text->n;) {
        line += text->data[i] == '\n';
        if (is_separator(text->data[i])) {
            i++;
            continue;
        }
        size_t begin = i;
        int64_t id = 0;
        bool good = true;
        for (; i < text->n && !is_separator(text->data[i]); i++) {
            good = good && isdigit((unsigned char)text->data[i]);
            id = good ? id * 10 + (text->data[i] - '0') : id;
            good = good && id <= INT32_MAX;
        }
        int shown = (int)(i - begin < 40 ? i - begin : 40);
        if (!good)
            return rmli_fail(err, RML_FORMAT, job->source, -1,
                             "line %zu: '%.*s' found, expected an id", line, shown,
                             text->data + begin);
        if ((uint64_t)id >= n_vocab)
            return rmli_fail(err, RML_INVALID_ARGUMENT, job->source, -1,
                             "line %zu: id %lld found, expected less than %zu", line, (long long)id,
                             n_vocab);
        if (ids->n == ids->capacity) {
            size_t capacity = 2 * ids->capacity + 256;
            int32_t *grown = realloc(ids->ids, capacity * sizeof *grown);
            if (!grown)
                return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %zu ids", capacity);
            ids->ids = grown;
            ids->capacity = capacity;
        }
        ids->ids[ids->n++] = (int32_t)id;
    }
    return true;
}

static void print_ids(const struct rml_ids *ids)
{
    for (size_t i = 0; i < ids->n; i++)
        printf("%s%d", i ? " " : "", ids->ids[i]);
    putchar('\n');
}

/* Raw, so that a text that is encoded and decoded again compares equal; a terminal gets the
 * newline that its next prompt needs. */
static void print_text(const struct rml_bytes *text)
{
    if (text->n)
        fwrite(text->data, 1, text->n, stdout);
    if (isatty(STDOUT_FILENO) && (text->n == 0 || text->data[text->n - 1] != '\n'))
        putchar('\n');
}

/* ---- --pieces ------------------------------------------------------------------------- */

static const char *kind_name(enum rml_token_kind kind)
{
    switch (kind) {
    case RML_TOKEN_NORMAL:
        return "normal";
    case RML_TOKEN_ADDED:
        return "added";
    case RML_TOKEN_SPECIAL:
        return "special";
    case RML_TOKEN_BYTE:
        return "byte";
    case RML_TOKEN_UNUSED:
        break;
    }
    return "unused";
}

/* "..." on one line: \\ \" \n \r \t, \xNN for other controls and for bytes of no character. */
static void print_quoted(const char *bytes, size_t nbytes)
{
    json_t *text = cli_json_bytes(bytes, nbytes);
    bool well_formed = text && json_string_length(text) == nbytes &&
                       (nbytes == 0 || memcmp(json_string_value(text), bytes, nbytes) == 0);
    json_decref(text);
    putchar('"');
    for (size_t i = 0; i < nbytes; i++) {
        unsigned char c = (unsigned char)bytes[i];
        static const char escaped[] = "\n\r\t\\\"", letters[] = "nrt\\\"";
        const char *at = c ? strchr(escaped, c) : NULL;
        if (at)
            printf("\\%c", letters[at - escaped]);
        else if (c < 0x20 || c == 0x7f || (c >= 0x80 && !well_formed))
            printf("\\x%02x", c);
        else
            putchar(c);
    }
    putchar('"');
}

static json_t *piece_json(int32_t id, const struct rml_token_info *info)
{
    char *hex = calloc(2 * info->nbytes + 1, 1);
    for (size_t i = 0; hex && i < info->nbytes; i++)
        snprintf(hex + 2 * i, 3, "%02x", (unsigned char)info->bytes[i]);
    json_t *piece =
        json_pack("{si so ss ss}", "id", (int)id, "text", cli_json_bytes(info->bytes, info->nbytes),
                  "hex", hex ? hex : "", "kind", kind_name(info->kind));
    free(hex);
    return piece;
}

/* Lines of id, bytes and kind with tabs between; or objects appended to `array`. */
static bool print_pieces(const struct tokenize_job *job, const struct rml_ids *ids, json_t *array,
                         struct rml_error *err)
{
    for (size_t i = 0; i < ids->n; i++) {
        struct rml_token_info info;
        if (!rml_tokenizer_token(job->tokenizer, ids->ids[i], &info))
            return rmli_fail(err, RML_INVALID_ARGUMENT, job->source, -1,
                             "id %d found, which is not in the vocabulary", ids->ids[i]);
        if (array) {
            json_array_append_new(array, piece_json(ids->ids[i], &info));
            continue;
        }
        printf("%d\t", ids->ids[i]);
        print_quoted(info.bytes, info.nbytes);
        printf("\t%s\n", kind_name(info.kind));
    }
    return true;
}

static bool do_pieces(const struct tokenize_job *job, const struct rml_ids *ids, bool json,
                      struct rml_error *err)
{
    json_t *array = json ? json_array() : NULL;
    bool ok = print_pieces(job, ids, array, err);
    json_t *document = json_pack("{so}", "pieces", array);
    if (ok && json)
        cli_json_print(document, 9);
    json_decref(document);
    return ok;
}

static void print_ids_json(const struct rml_ids *ids)
{
    json_t *array = json_array();
    for (size_t i = 0; i < ids->n; i++)
        json_array_append_new(array, json_integer(ids->ids[i]));
    json_t *document = json_pack("{so}", "ids", array);
    json_dumpf(document, stdout, 0);
    putchar('\n');
    json_decref(document);
}

static void print_text_json(const struct rml_bytes *text)
{
    json_t *document = json_pack("{so}", "text", cli_json_bytes(text->data, text->n));
    cli_json_print(document, 9);
    json_decref(document);
}

static bool do_one(const struct tokenize_job *job, const struct arguments *args, bool json,
                   struct rml_error *err)
{
    struct rml_bytes input = {0}, text = {0};
    struct rml_ids ids = {0};
    bool ok = read_all(args, &input, err);
    if (ok && job->decode)
        ok = parse_ids(job, &input, &ids, err) &&
             (args->pieces || tokenize_decode(job, &ids, &text, err));
    else if (ok)
        ok = tokenize_encode(job, input.data, input.n, &ids, err);
    if (ok && args->pieces)
        ok = do_pieces(job, &ids, json, err);
    else if (ok && job->decode)
        (json ? print_text_json : print_text)(&text);
    else if (ok)
        (json ? print_ids_json : print_ids)(&ids);
    rml_bytes_release(&input);
    rml_bytes_release(&text);
    rml_ids_release(&ids);
    if (ok || err->file[0])
        return ok;
    const struct rml_error why = *err; /* of the library, which knows no source */
    rml_error_clear(err);
    return rmli_fail(err, why.code, job->source, why.offset, "%s", why.message);
}

/* For who compares with the tokenizers package, which applies them. */
static void tell_batching(const struct rml_tokenizer *tokenizer, const char *name)
{
    const struct rml_tokenizer_batching b = rml_tokenizer_batching(tokenizer);
    char truncation[64] = "", padding[64] = "";
    if (b.truncates)
        snprintf(truncation, sizeof truncation, "truncation to %llu ids",
                 (unsigned long long)b.max_length);
    if (b.pads && b.fixed_length > 0)
        snprintf(padding, sizeof padding, "padding to %llu ids",
                 (unsigned long long)b.fixed_length);
    else if (b.pads)
        snprintf(padding, sizeof padding, "padding to the longest of a batch");
    if (b.truncates || b.pads)
        cli_note("%s: asks for %s%s%s, which is not applied", name, truncation,
                 b.truncates && b.pads ? " and " : "", padding);
}

/* ---- The command line -------------------------------------------------------------- */

enum {
    KEY_JSONL = CLI_OWN_KEY,
    KEY_DECODE,
    KEY_NO_SPECIAL,
    KEY_PARSE_SPECIAL,
    KEY_PIECES,
    KEY_PRE
};

static const struct argp_option options[] = {
    {"jsonl", KEY_JSONL, NULL, 0, "One JSON string a line in, one JSON array of ids a line out", 1},
    {"decode", KEY_DECODE, NULL, 0,
     "Ids in (separated by blanks or commas), text out; with --jsonl: arrays in, strings out", 1},
    {"no-special", KEY_NO_SPECIAL, NULL, 0,
     "Add neither BOS and EOS nor tokens of a template; with --decode: leave special tokens out",
     1},
    {"parse-special", KEY_PARSE_SPECIAL, NULL, 0,
     "Text of special tokens becomes special tokens (else it stays text)", 1},
    {"pieces", KEY_PIECES, NULL, 0,
     "Id, bytes and kind (normal, added, special, byte, unused), a line each", 1},
    {"pre", KEY_PRE, "NAME", 0,
     "Pre-tokenizer of a GGUF of kind gpt2, over what the file says (an unknown name lists the "
     "known ones)",
     1},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *args = state->input;
    switch (key) {
    case KEY_JSONL:
        args->jsonl = true;
        return 0;
    case KEY_DECODE:
        args->decode = true;
        return 0;
    case KEY_NO_SPECIAL:
        args->no_special = true;
        return 0;
    case KEY_PARSE_SPECIAL:
        args->parse_special = true;
        return 0;
    case KEY_PIECES:
        args->pieces = true;
        return 0;
    case KEY_PRE:
        args->pre = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 1)
            argp_error(state, "'%s' found, expected a checkpoint and one text (quote it)", arg);
        if (state->arg_num == 0)
            args->tokenizer = arg;
        else
            args->text = strcmp(arg, "-") == 0 ? NULL : arg;
        return 0;
    case ARGP_KEY_END:
        if (state->arg_num == 0)
            argp_error(state, "no checkpoint found, expected one, or a tokenizer.json");
        if (args->pieces && args->jsonl)
            argp_error(state, "--pieces and --jsonl exclude each other");
        if (args->decode && args->parse_special)
            argp_error(state, "--decode and --parse-special exclude each other");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "CHECKPOINT|tokenizer.json [TEXT]",
    .doc = "Turns TEXT, or standard input without it (or with -), into token ids, and back.\v"
           "A bare tokenizer.json is used alone; a folder, with a model or without, also reads "
           "tokenizer_config.json, whose add_bos_token and add_eos_token hold. Bytes "
           "that are no UTF-8 are read as U+FFFD; --decode writes the tokens' bytes as they are, "
           "in JSON as U+FFFD. Truncation and padding that a tokenizer.json asks for are told "
           "of (not with -q) and not applied: a text keeps all of its ids.\n\n"
           "Example: the tokens of a sentence, and a file of texts by four threads:\n\n"
           "  rml-tokenize model.gguf --pieces 'Hello, world'\n"
           "  jq .text corpus.jsonl | rml-tokenize model.gguf --jsonl --threads 4"};

int main(int argc, char **argv)
{
    cli_start(argc, argv);
    struct arguments args = {0};
    struct cli_options common;
    cli_parse(&common, CLI_OPT_THREADS | CLI_OPT_JSON, &argp, argc, argv, &args);

    struct rml_error err = RML_ERROR_INIT;
    struct rml_tokenizer *tokenizer = rml_tokenizer_open(args.tokenizer, args.pre, &err);
    const struct tokenize_job job = {.tokenizer = tokenizer,
                                     .source = args.text ? "TEXT" : "standard input",
                                     .decode = args.decode,
                                     .no_special = args.no_special,
                                     .parse_special = args.parse_special};
    struct rml_thread_pool *pool = NULL;
    bool ok = tokenizer != NULL;
    if (ok && !args.decode)
        tell_batching(tokenizer, args.tokenizer);
    if (ok && args.jsonl) {
        pool = rml_thread_pool_create(common.threads, &err);
        ok = pool && tokenize_lines(&job, pool, args.text, &err);
    } else if (ok) {
        ok = do_one(&job, &args, common.json, &err);
    }
    rml_thread_pool_destroy(pool);
    rml_tokenizer_destroy(tokenizer);
    if (!ok)
        return cli_error_or_interrupted(&err);
    return cli_interrupted() ? cli_interrupted_code() : CLI_PASS;
}
