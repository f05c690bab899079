/*
 * The tokenizer suite: text to ids and back, with the tokenizer of a checkpoint or a tokenizer.json.
 *
 * The text is cut into documents of some kilobytes, which threads take from a shared counter: that is how
 * a corpus is tokenized.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mapped_file.h"
#include "base/memory.h"
#include "bench/checkpoint_model.h"
#include "bench/sample_text.h"
#include "bench/suite.h"
#include "files/content_hash.h"
#include "tools/cli/options.h"

#define DOCUMENT_NBYTES 4096

struct settings {
    const char *tokenizer, *text;
    struct bench_words directions;
    struct bench_numbers size;
};

enum { KEY_TEXT = CLI_OWN_KEY, KEY_SIZE, KEY_DIRECTION };

static const struct argp_option options[] = {
    {"text", KEY_TEXT, "FILE", 0, "A text of one's own, in place of one made from the seed", 1},
    {"size", KEY_SIZE, "LIST", 0, "Bytes of the text that is made (262144)", 1},
    {"direction", KEY_DIRECTION, "LIST", 0, "encode, decode or both (encode,decode)", 1},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct settings *s = state->input;
    switch (key) {
    case KEY_TEXT:
        if (!*arg)
            argp_error(state, "--text: '' found, expected the name of a file");
        s->text = arg;
        return 0;
    case KEY_SIZE:
        bench_arg_numbers(state, "--size", arg, 1, 1 << 30, &s->size);
        return 0;
    case KEY_DIRECTION:
        bench_arg_either(state, "--direction", arg, "encode", "decode", &s->directions);
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0)
            argp_error(state, "'%s' found, expected one CHECKPOINT or tokenizer.json", arg);
        s->tokenizer = arg;
        return 0;
    case ARGP_KEY_END:
        if (!s->tokenizer)
            argp_error(state, "no CHECKPOINT or tokenizer.json found");
        if (s->text && s->size.n)
            argp_error(state, "--text and --size exclude each other");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void release(void *settings)
{
    struct settings *s = settings;
    free(s->directions.values);
    free(s->size.values);
}

/* ---- What is read --------------------------------------------------------------------------- */

/* A copy of the file, or a text of `nbytes` from the seed. */
static char *read_text(const char *path, size_t nbytes, uint64_t seed, size_t *n,
                       struct rml_error *err)
{
    if (!path)
        return bench_sample_text(nbytes, seed, n, err);
    struct rmli_mapped_file file = {0};
    if (!rmli_mapped_file_init(&file, path, err))
        return NULL;
    char *text = malloc(file.nbytes + 1);
    if (text)
        memcpy(text, file.data, file.nbytes);
    else
        rmli_fail(err, RML_NO_MEMORY, path, -1, "no memory for the text");
    *n = file.nbytes;
    rmli_mapped_file_release(&file);
    return text;
}

/* ---- The list ------------------------------------------------------------------------------- */

/* What the cases of one text have in common. */
struct listing {
    struct bench_plan *plan;
    const struct settings *settings;
    char tokenizer_sha256[65], text_sha256[65];
    size_t nbytes;
    uint64_t seed;
};

static bool add(const struct listing *l, const char *direction, int threads, struct rml_error *err)
{
    struct bench_spec *spec = bench_plan_add(l->plan, &bench_tokenizer_suite, direction, err);
    if (!spec)
        return false;
    spec->what.isa = NULL; /* no kernels are used */
    spec->what.threads = threads;
    spec->checkpoint = l->settings->tokenizer;
    spec->input = l->settings->text;
    spec->bytes_per_iter = (double)l->nbytes;
    spec->flops_per_iter = 1000.0 * (double)l->nbytes; /* operations of a slow machine, for time */
    spec->memory_nbytes = 3e8;
    return bench_spec_params(spec,
                             json_pack("{ss ss sI sI}", "tokenizer_sha256", l->tokenizer_sha256,
                                       "text_sha256", l->text_sha256, "nbytes",
                                       (json_int_t)l->nbytes, "seed", (json_int_t)l->seed),
                             err);
}

static bool list_text(struct listing *l, size_t size, const struct bench_sweep_settings *sweep,
                      struct rml_error *err)
{
    static const char *default_directions[] = {"encode", "decode"};
    const struct bench_words *given = &l->settings->directions;
    const struct bench_words directions =
        given->n ? *given : (struct bench_words){2, default_directions};
    char *text = read_text(l->settings->text, size, sweep->seed, &l->nbytes, err);
    bool ok = text && rmli_sha256_bytes(text, l->nbytes, l->text_sha256, err);
    free(text);
    if (ok && l->nbytes == 0)
        ok = rmli_fail(err, RML_INVALID_ARGUMENT, l->settings->text, -1,
                       "an empty text has no time");
    /* The child makes it again from this number. */
    l->seed = l->settings->text ? 0 : sweep->seed;
    for (size_t t = 0; ok && t < sweep->threads.n; t++)
        for (size_t d = 0; ok && d < directions.n; d++)
            ok = add(l, directions.values[d], (int)sweep->threads.values[t], err);
    return ok;
}

static bool enumerate(const void *settings, const struct bench_sweep_settings *sweep,
                      struct bench_plan *plan, struct rml_error *err)
{
    static uint64_t default_size[] = {262144};
    const struct settings *s = settings;
    struct listing l = {.plan = plan, .settings = s};
    const struct bench_numbers size = s->size.n ? s->size : (struct bench_numbers){1, default_size};
    struct rml_tokenizer *tokenizer = rml_tokenizer_open(s->tokenizer, NULL, err);
    if (!tokenizer)
        return false;
    bool ok = rml_tokenizer_content_sha256(tokenizer, l.tokenizer_sha256, err);
    rml_tokenizer_destroy(tokenizer);
    for (size_t i = 0; ok && i < size.n; i++)
        ok = list_text(&l, (size_t)size.values[i], sweep, err);
    /* A case is about the tokenizer, which other checkpoints may have too; the run is told which it
     * was. */
    if (ok)
        bench_recognise_model(plan, s->tokenizer);
    return ok;
}

/* ---- One case ------------------------------------------------------------------------------- */

struct document {
    const char *text;
    size_t nbytes;
    struct rml_ids ids;
    struct rml_bytes bytes; /* of decoding */
    bool failed;
};

struct opened {
    struct rml_tokenizer *tokenizer;
    struct rml_thread_pool *pool;
    char *text;
    struct document *documents; /* [n_documents] */
    size_t n_documents;
    bool decodes;
    uint8_t *joined; /* the output of all documents */
    size_t joined_room;
    char sha256[65]; /* of the output, computed by one thread */
};

/* False: out of memory, or an id that is none. */
static bool work_on(const struct opened *o, struct document *d, struct rml_error *err)
{
    if (o->decodes) {
        d->bytes.n = 0;
        return rml_tokenizer_decode(o->tokenizer, d->ids.ids, d->ids.n, false, &d->bytes, err);
    }
    d->ids.n = 0;
    return rml_tokenizer_encode(o->tokenizer, d->text, d->nbytes, 0, &d->ids, err);
}

static void task(void *arg, size_t i, unsigned worker)
{
    struct opened *o = arg;
    (void)worker;
    o->documents[i].failed = !work_on(o, &o->documents[i], NULL);
}

static bool run(void *arg, int64_t iters, int64_t *times, struct rml_error *err)
{
    struct opened *o = arg;
    (void)times;
    for (int64_t i = 0; i < iters; i++)
        rmli_parallel_for(o->pool, o->n_documents, task, o);
    for (size_t i = 0; i < o->n_documents; i++)
        if (o->documents[i].failed) /* again, to hear why */
            return work_on(o, &o->documents[i], err) ||
                   rmli_fail(err, RML_INTERNAL, NULL, -1, "document %zu failed, but once", i);
    return true;
}

/* Ids of all documents, or their bytes. */
static const void *output(const void *arg, size_t *nbytes)
{
    const struct opened *o = arg;
    size_t n = 0;
    for (size_t i = 0; i < o->n_documents; i++) {
        const struct document *d = &o->documents[i];
        size_t part = o->decodes ? d->bytes.n : d->ids.n * sizeof *d->ids.ids;
        if (part > o->joined_room - n)
            part = o->joined_room - n;
        if (part > 0)
            memcpy(o->joined + n, o->decodes ? (const void *)d->bytes.data : d->ids.ids, part);
        n += part;
    }
    *nbytes = n;
    return o->joined;
}

/* Threads give what one thread gives. */
static bool verify(const void *state, struct rml_error *err)
{
    const struct opened *o = state;
    char hex[65];
    size_t nbytes;
    const void *joined = output(o, &nbytes);
    return rmli_sha256_bytes(joined, nbytes, hex, err) &&
           (strcmp(hex, o->sha256) == 0 ||
            rmli_fail(err, RML_INTERNAL, NULL, -1, "the output differs from that of one thread"));
}

static void close_case(void *state)
{
    struct opened *o = state;
    for (size_t i = 0; o->documents && i < o->n_documents; i++) {
        rml_ids_release(&o->documents[i].ids);
        rml_bytes_release(&o->documents[i].bytes);
    }
    free(o->documents);
    free(o->joined);
    free(o->text);
    rml_thread_pool_destroy(o->pool);
    rml_tokenizer_destroy(o->tokenizer);
    free(o);
}

/* Cuts at the last blank or newline of each piece, else anywhere but within a character. */
static bool cut_documents(struct opened *o, size_t nbytes, struct rml_error *err)
{
    o->documents = calloc(nbytes / (DOCUMENT_NBYTES / 2) + 1, sizeof *o->documents);
    if (!o->documents)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for documents");
    for (size_t at = 0; at < nbytes;) {
        size_t n = nbytes - at < DOCUMENT_NBYTES ? nbytes - at : DOCUMENT_NBYTES;
        if (n == DOCUMENT_NBYTES) {
            size_t cut = n;
            while (cut > DOCUMENT_NBYTES / 2 && o->text[at + cut] != ' ' &&
                   o->text[at + cut] != '\n')
                cut--;
            n = cut > DOCUMENT_NBYTES / 2 ? cut : n;
            while (n > DOCUMENT_NBYTES / 2 && at + n < nbytes &&
                   ((unsigned char)o->text[at + n] & 0xc0) == 0x80)
                n--;
        }
        o->documents[o->n_documents++] = (struct document){.text = o->text + at, .nbytes = n};
        at += n;
    }
    return true;
}

/* Ids of every document by one thread: what decoding starts from, and room for either output. */
static bool encode_all(struct opened *o, size_t *n_tokens, struct rml_error *err)
{
    *n_tokens = 0;
    for (size_t i = 0; i < o->n_documents; i++) {
        struct document *d = &o->documents[i];
        if (!rml_tokenizer_encode(o->tokenizer, d->text, d->nbytes, 0, &d->ids, err) ||
            (o->decodes && !work_on(o, d, err)))
            return false;
        *n_tokens += d->ids.n;
        o->joined_room += o->decodes ? d->bytes.n : d->ids.n * sizeof *d->ids.ids;
    }
    o->joined = malloc(o->joined_room + 1);
    if (!o->joined)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the output");
    size_t nbytes;
    const void *joined = output(o, &nbytes);
    return rmli_sha256_bytes(joined, nbytes, o->sha256, err);
}

static bool open_all(struct opened *o, const struct bench_spec *spec, size_t *nbytes,
                     size_t *n_tokens, struct rml_error *err)
{
    uint64_t size = 0;
    if (!spec->checkpoint || !bench_spec_u64(spec, "nbytes", 1, INT32_MAX, &size, err))
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1, "the case has no tokenizer");
    const char *want = json_string_value(json_object_get(spec->params, "text_sha256"));
    char hex[65];
    if (!(o->tokenizer = rml_tokenizer_open(spec->checkpoint, NULL, err)) ||
        !(o->pool = rml_thread_pool_create((unsigned)spec->what.threads, err)) ||
        !(o->text = read_text(spec->input, (size_t)size, bench_spec_seed(spec), nbytes, err)) ||
        !rmli_sha256_bytes(o->text, *nbytes, hex, err))
        return false;
    if (!want || strcmp(want, hex) != 0)
        return rmli_fail(err, RML_INVALID_ARGUMENT, spec->input, -1,
                         "the text is not the one that was planned");
    return cut_documents(o, *nbytes, err) && encode_all(o, n_tokens, err);
}

static bool open_case(const struct bench_spec *spec, struct bench_case *opened,
                      struct rml_error *err)
{
    struct opened *o = calloc(1, sizeof *o);
    if (!o)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a case");
    size_t nbytes = 0, n_tokens = 0;
    o->decodes = strcmp(spec->what.name, "decode") == 0;
    if (!open_all(o, spec, &nbytes, &n_tokens, err)) {
        close_case(o);
        return false;
    }
    opened->state = o;
    opened->facts.items_per_iter = (double)n_tokens;
    opened->facts.bytes_per_iter = (double)nbytes;
    opened->work = (struct bench_work){.run = run, .output = output, .arg = o, .iters_step = 1};
    opened->verify = verify;
    opened->close = close_case;
    return true;
}

const struct bench_suite bench_tokenizer_suite = {
    .name = "tokenizer",
    .summary = "text to ids and back, by number of threads",
    .args_doc = "CHECKPOINT|tokenizer.json",
    .doc = "Times encoding and decoding of a text, cut into documents of 4 KiB that the threads "
           "share. GB/s are of the text.\v"
           "Example:\n\n"
           "  rml-bench tokenizer model.gguf --text corpus.txt --threads 1,2",
    .work_version = 1,
    .takes_threads = true,
    .options = options,
    .parse = parse,
    .settings_nbytes = sizeof(struct settings),
    .release = release,
    .enumerate = enumerate,
    .open = open_case,
};
