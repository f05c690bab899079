/*
 * Ids of conversations, and of texts of mixed trust, against transformers: the tokenizers and
 * cases of chat_ids.json, which make_chat_ids.py writes.
 */
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rng.h"
#include "text/chat_json.h"
#include "text/spans.h"

static json_t *load(const char *name)
{
    char path[4096];
    const char *root = getenv("RML_SOURCE_DIR");
    snprintf(path, sizeof path, "%s/lib/text/tests/%s", root ? root : ".", name);
    json_error_t error;
    json_t *json = json_load_file(path, 0, &error);
    cr_assert(json, "%s: %s", error.source, error.text);
    return json;
}

static void write_file(const char *folder, const char *name, const void *data, size_t nbytes)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    cr_assert(file && fwrite(data, 1, nbytes, file) == nbytes && fclose(file) == 0, "%s", path);
}

static const char *const file_names[] = {"config.json", "model.safetensors", "tokenizer.json",
                                         "tokenizer_config.json"};

/* A tokenizer of chat_ids.json, opened as that of a folder with a model of one number. */
static struct rml_tokenizer *open_tokenizer(json_t *entry)
{
    static const char header[] = "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}";
    unsigned char weights[8 + sizeof header - 1 + 4] = {sizeof header - 1};
    memcpy(weights + 8, header, sizeof header - 1);
    char folder[] = P_tmpdir "/rml-chat-XXXXXX";
    cr_assert(mkdtemp(folder));
    char *tokenizer = json_dumps(json_object_get(entry, "tokenizer"), JSON_COMPACT);
    json_t *bos = json_object_get(entry, "bos"), *eos = json_object_get(entry, "eos");
    json_t *tokens = json_pack("{s:O,s:O}", "bos_token", bos, "eos_token", eos);
    char *config = json_dumps(tokens, 0);
    write_file(folder, "config.json", "{}", 2);
    write_file(folder, "model.safetensors", weights, sizeof weights);
    write_file(folder, "tokenizer.json", tokenizer, strlen(tokenizer));
    write_file(folder, "tokenizer_config.json", config, strlen(config));
    struct rml_error err = RML_ERROR_INIT;
    struct rml_checkpoint *cp = rml_checkpoint_open(folder, &err);
    struct rml_tokenizer *t = cp ? rml_tokenizer_from_checkpoint(cp, NULL, &err) : NULL;
    cr_assert(t, "%s: %s", json_string_value(json_object_get(entry, "name")), err.message);
    rml_checkpoint_close(cp);
    for (size_t i = 0; i < sizeof file_names / sizeof file_names[0]; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, file_names[i]);
        unlink(path);
    }
    rmdir(folder);
    free(tokenizer);
    free(config);
    json_decref(tokens);
    return t;
}

static void expect_ids(const struct rml_ids *got, json_t *want, const char *what)
{
    size_t n = json_array_size(want), i = 0;
    while (i < n && i < got->n && got->ids[i] == json_integer_value(json_array_get(want, i)))
        i++;
    cr_expect(i == n && got->n == n, "%s: %zu ids, expected %zu; the first that differs: %zu (%d)",
              what, got->n, n, i, i < got->n ? got->ids[i] : -1);
}

Test(chat_encode, equals_transformers)
{
    json_t *ids = load("chat_ids.json"), *cases = load("chat_cases.json"), *entry, *expected;
    size_t i, j, n_differing = 0;
    json_array_foreach(json_object_get(ids, "tokenizers"), i, entry)
    {
        struct rml_tokenizer *t = open_tokenizer(entry);
        json_array_foreach(json_object_get(entry, "cases"), j, expected)
        {
            const char *conversation = json_string_value(json_object_get(expected, "conversation"));
            const char *format = json_string_value(json_object_get(expected, "format"));
            char what[256];
            snprintf(what, sizeof what, "%s: %s: %s",
                     json_string_value(json_object_get(entry, "name")), format, conversation);
            struct rml_conversation c = {0};
            struct rml_ids got = {0};
            struct rml_error err = RML_ERROR_INIT;
            cr_assert(rml_conversation_from_json(
                &c, json_object_get(json_object_get(cases, "conversations"), conversation), NULL,
                &err));
            cr_expect(rml_chat_encode(rml_chat_format_by_name(format), t, c.messages, c.n, true,
                                      &got, &err),
                      "%s: %s", what, err.message);
            /* Where contents hold special-token text both are stated, and only ours can be ours. */
            json_t *theirs = json_object_get(expected, "ids");
            json_t *ours = json_object_get(expected, "rml_ids");
            expect_ids(&got, ours ? ours : theirs, what);
            n_differing += ours && !json_equal(ours, theirs);
            rml_ids_release(&got);
            rml_conversation_release(&c);
        }
        rml_tokenizer_destroy(t);
    }
    cr_expect_geq(n_differing, 10, "the difference is tested with only %zu cases", n_differing);
    json_decref(ids);
    json_decref(cases);
}

/* ---- Spans --------------------------------------------------------------------------------- */

static struct rml_ids encode(const struct rml_tokenizer *t, const struct rml_text_span *spans,
                             size_t n)
{
    struct rml_ids ids = {0};
    struct rml_error err = RML_ERROR_INIT;
    cr_assert(rml_tokenizer_encode_spans(t, spans, n, 0, &ids, &err), "%s", err.message);
    return ids;
}

static bool equal(const struct rml_ids *a, const struct rml_ids *b)
{
    return a->n == b->n && (a->n == 0 || memcmp(a->ids, b->ids, a->n * sizeof *a->ids) == 0);
}

static bool holds(const struct rml_ids *ids, int32_t id)
{
    for (size_t i = 0; i < ids->n; i++)
        if (ids->ids[i] == id)
            return true;
    return false;
}

#define SPAN(s, is_trusted)                                                                        \
    {                                                                                              \
        .text = (s), .nbytes = sizeof(s) - 1, .trusted = is_trusted                                \
    }

Test(chat_encode, a_special_token_needs_trust_in_all_of_its_text)
{
    json_t *ids = load("chat_ids.json");
    struct rml_tokenizer *t = open_tokenizer(json_array_get(json_object_get(ids, "tokenizers"), 0));
    int32_t end = rml_tokenizer_find(t, "<|im_end|>", 10);
    cr_assert_geq(end, 0);
    static const struct {
        struct rml_text_span spans[4];
        size_t n;
        bool parsed;
    } cases[] = {
        {{SPAN("a<|im_end|>b", true)}, 1, true},
        {{SPAN("a<|im_end|>b", false)}, 1, false},
        {{SPAN("a<|im_", true), SPAN("end|>b", true)}, 2, true},
        {{SPAN("a<|im_", true), SPAN("", false), SPAN("end|>b", true)}, 3, true},
        {{SPAN("a<|im_", true), SPAN("end|>b", false)}, 2, false},
        {{SPAN("a<|im_", false), SPAN("end|>b", true)}, 2, false},
        {{SPAN("<|im", true), SPAN("_", false), SPAN("end|>", true)}, 3, false},
        {{SPAN("<", false), SPAN("<|im_end|>", true), SPAN(">", false)}, 3, true},
        {{SPAN("<|im_end", false), SPAN("<|im_end|>", true), SPAN("|>", false)}, 3, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rml_ids got = encode(t, cases[i].spans, cases[i].n);
        cr_expect_eq(holds(&got, end), cases[i].parsed, "case %zu", i);
        struct rml_bytes bytes = {0};
        cr_expect(rml_tokenizer_decode(t, got.ids, got.n, false, &bytes, NULL));
        size_t at = 0;
        for (size_t k = 0; k < cases[i].n; k++) {
            const struct rml_text_span *span = &cases[i].spans[k];
            cr_expect(at + span->nbytes <= bytes.n &&
                          memcmp(bytes.data + at, span->text, span->nbytes) == 0,
                      "case %zu decodes to another text", i);
            at += span->nbytes;
        }
        cr_expect_eq(at, bytes.n);
        rml_bytes_release(&bytes);
        rml_ids_release(&got);
    }
    struct rml_ids none = encode(t, NULL, 0);
    cr_expect_eq(none.n, 0);
    rml_tokenizer_destroy(t);
    json_decref(ids);
}

/* However a text is cut, spans of one kind are that text. */
Test(chat_encode, spans_of_one_kind_are_the_text)
{
    json_t *ids = load("chat_ids.json"), *entry;
    static const char text[] = "<s> Hi<|im_end|>\n don't\xc3\xa9\xe2\x96\x81 </s><s>[INST] x "
                               "[/INST]  <|user|>\n\xf0\x9f\x91\xa9 "
                               "<|end|>\n\n<end_of_turn><think>12345\xff\xe2\x82\0 </s>";
    struct rmli_rng rng;
    rmli_rng_seed(&rng, 4);
    size_t e;
    json_array_foreach(json_object_get(ids, "tokenizers"), e, entry)
    {
        struct rml_tokenizer *t = open_tokenizer(entry);
        for (int round = 0; round < 40; round++) {
            bool trusted = round % 2;
            struct rml_text_span spans[sizeof text];
            size_t n = 0;
            for (size_t at = 0; at < sizeof text - 1;) {
                size_t nbytes = rmli_rng_next(&rng) % 7;
                if (nbytes > sizeof text - 1 - at)
                    nbytes = sizeof text - 1 - at;
                if (n == sizeof text - 1)
                    nbytes = sizeof text - 1 - at;
                spans[n++] = (struct rml_text_span){text + at, nbytes, trusted};
                at += nbytes;
            }
            struct rml_ids whole = {0}, cut = encode(t, spans, n);
            cr_expect(rml_tokenizer_encode(t, text, sizeof text - 1,
                                           trusted ? RML_PARSE_SPECIAL : 0, &whole, NULL));
            cr_expect(equal(&whole, &cut), "tokenizer %zu, round %d", e, round);
            rml_ids_release(&whole);
            rml_ids_release(&cut);
        }
        rml_tokenizer_destroy(t);
    }
    json_decref(ids);
}

Test(chat_encode, failure_leaves_the_ids_alone)
{
    json_t *ids = load("chat_ids.json");
    struct rml_tokenizer *t = open_tokenizer(json_array_get(json_object_get(ids, "tokenizers"), 2));
    const struct rml_chat_format *llama2 = rml_chat_format_by_name("llama2");
    const struct rml_chat_message bad[2] = {{"user", "Hi", 2}, {"user", "Hi", 2}};
    struct rml_ids out = {0};
    struct rml_error err = RML_ERROR_INIT;
    cr_assert(rml_chat_encode(llama2, t, bad, 1, true, &out, &err));
    size_t n = out.n;
    cr_expect_gt(n, 3);
    cr_expect_eq(out.ids[0], rml_tokenizer_bos(t));
    cr_expect(!rml_chat_encode(llama2, t, bad, 2, true, &out, &err));
    cr_expect_eq(out.n, n);
    cr_expect_eq(err.code, RML_INVALID_ARGUMENT);
    cr_expect(rml_chat_encode(llama2, t, bad, 1, true, &out, NULL));
    cr_expect_eq(out.n, 2 * n, "ids are appended");
    rml_ids_release(&out);
    rml_tokenizer_destroy(t);
    json_decref(ids);
}

static const char *const fragments[] = {
    "<|im_end|>", "<s>",          "</s>",     "<|eot_id|>",     " ",  "\n", "a",  "é",
    "日本",       "\xe3\x80\x80", "</think>", "<think>",        "12", "'s", "%c", "\t",
    "👩",          "<|im_",        "end|>",    "<tool_response>"};

/* A text of up to 11 fragments, into a buffer that holds any. */
static size_t draw_text(struct rmli_rng *rng, char *text)
{
    size_t nbytes = 0;
    for (uint64_t n = rmli_rng_below(rng, 12); n > 0; n--) {
        const char *fragment =
            fragments[rmli_rng_below(rng, sizeof fragments / sizeof fragments[0])];
        memcpy(text + nbytes, fragment, strlen(fragment));
        nbytes += strlen(fragment);
    }
    return nbytes;
}

/* Whatever is said, in every format: the ids decode to the rendered text, and contents never make
 * a special token: there are as many as when nothing is said. */
Test(chat_encode, ids_are_the_rendered_text)
{
    json_t *ids = load("chat_ids.json");
    struct rml_tokenizer *t = open_tokenizer(json_array_get(json_object_get(ids, "tokenizers"), 0));
    const struct rml_chat_format *format;
    struct rmli_rng rng;
    rmli_rng_seed(&rng, 11);
    for (size_t f = 0; (format = rml_chat_format_at(f)); f++) {
        for (int round = 0; round < 60; round++) {
            static const char *const roles[] = {"user", "assistant"};
            char texts[5][256];
            struct rml_chat_message messages[5], silent[5];
            size_t n = 1 + rmli_rng_below(&rng, 5);
            for (size_t i = 0; i < n; i++) {
                messages[i] =
                    (struct rml_chat_message){roles[i % 2], texts[i], draw_text(&rng, texts[i])};
                silent[i] = (struct rml_chat_message){roles[i % 2], "x", 1};
            }
            struct rml_ids got = {0}, of_silence = {0};
            struct rml_bytes decoded = {0}, rendered = {0};
            struct rml_error err = RML_ERROR_INIT;
            cr_assert(
                rml_chat_encode(format, t, messages, n, round % 2, &got, &err) &&
                    rml_chat_encode(format, t, silent, n, round % 2, &of_silence, &err) &&
                    rml_tokenizer_decode(t, got.ids, got.n, false, &decoded, &err) &&
                    rml_chat_render(format, messages, n, round % 2, "<s>", "</s>", &rendered, &err),
                "%s: %s", rml_chat_format_name(format), err.message);
            cr_expect(decoded.n == rendered.n &&
                          (decoded.n == 0 || memcmp(decoded.data, rendered.data, decoded.n) == 0),
                      "%s: round %d", rml_chat_format_name(format), round);
            size_t n_special = 0, n_expected = 0;
            struct rml_token_info info;
            for (size_t i = 0; i < got.n; i++)
                n_special +=
                    rml_tokenizer_token(t, got.ids[i], &info) && info.kind == RML_TOKEN_SPECIAL;
            for (size_t i = 0; i < of_silence.n; i++)
                n_expected += rml_tokenizer_token(t, of_silence.ids[i], &info) &&
                              info.kind == RML_TOKEN_SPECIAL;
            /* GLM 4's template leaves out messages that say nothing; its markers are none here. */
            cr_expect_eq(n_special, n_expected, "%s: round %d: %zu special tokens, expected %zu",
                         rml_chat_format_name(format), round, n_special, n_expected);
            rml_ids_release(&got);
            rml_ids_release(&of_silence);
            rml_bytes_release(&decoded);
            rml_bytes_release(&rendered);
        }
    }
    rml_tokenizer_destroy(t);
    json_decref(ids);
}
