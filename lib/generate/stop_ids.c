/* The ids that end a reply, from all places that say them. */
#include "generate/stop_ids.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files/gguf.h"
#include "files/json_file.h"

/* Of what is small: 64 times the longest that is in use. */
#define MAX_CONFIG_NBYTES (1 << 20)

struct collector {
    const struct rml_tokenizer *tokenizer;
    struct rml_ids *out;
    size_t begin; /* of ours in out */
    struct rml_error *err;
};

static bool add(struct collector *c, const char *file, const char *key, int64_t id)
{
    size_t n_vocab = rml_tokenizer_n_vocab(c->tokenizer);
    if (id < 0 || (uint64_t)id >= n_vocab)
        return rmli_fail(c->err, RML_FORMAT, file, -1, "%s is %lld, expected 0 to %zu", key,
                         (long long)id, n_vocab - 1);
    struct rml_ids *out = c->out;
    size_t at = c->begin;
    while (at < out->n && out->ids[at] < id)
        at++;
    if (at < out->n && out->ids[at] == id)
        return true;
    if (out->n == out->capacity) {
        size_t capacity = 2 * out->capacity + 8;
        int32_t *grown = realloc(out->ids, capacity * sizeof *grown);
        if (!grown)
            return rmli_fail(c->err, RML_NO_MEMORY, NULL, -1, "no memory for %zu ids", capacity);
        out->ids = grown;
        out->capacity = capacity;
    }
    memmove(out->ids + at + 1, out->ids + at, (out->n - at) * sizeof *out->ids);
    out->ids[at] = (int32_t)id;
    out->n++;
    return true;
}

/* ---- Files ------------------------------------------------------------------------------- */

static bool add_from_gguf(struct collector *c, const struct rml_checkpoint *cp)
{
    static const char *const keys[] = {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                                       "tokenizer.ggml.eom_token_id"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        uint32_t id = 0;
        bool present = false;
        if (!rmli_gguf_get_u32(rmli_checkpoint_gguf(cp), keys[i], &id, &present, c->err) ||
            (present && !add(c, rml_checkpoint_path(cp), keys[i], id)))
            return false;
    }
    return true;
}

static bool add_from_json(struct collector *c, const char *file, const json_t *config)
{
    static const char key[] = "eos_token_id";
    const json_t *value = json_object_get(config, key);
    if (!value || json_is_null(value))
        return true;
    size_t n = json_is_array(value) ? json_array_size(value) : 1;
    for (size_t i = 0; i < n; i++) {
        const json_t *id = json_is_array(value) ? json_array_get(value, i) : value;
        if (!json_is_integer(id))
            return rmli_fail(c->err, RML_FORMAT, file, -1,
                             "%s is neither a whole number nor a list of them", key);
        if (!add(c, file, key, json_integer_value(id)))
            return false;
    }
    return true;
}

static bool add_from_folder(struct collector *c, const struct rml_checkpoint *cp)
{
    const char *folder = rml_checkpoint_path(cp);
    char *path = malloc(strlen(folder) + sizeof "/generation_config.json");
    if (!path)
        return rmli_fail(c->err, RML_NO_MEMORY, NULL, -1, "no memory for a path");
    sprintf(path, "%s/generation_config.json", folder);
    bool ok = true;
    if (rmli_path_exists(path)) {
        json_t *config = rmli_json_load_file(path, MAX_CONFIG_NBYTES, c->err);
        ok = config && add_from_json(c, path, config);
        json_decref(config);
    }
    sprintf(path, "%s/config.json", folder);
    ok = ok && add_from_json(c, path, rmli_checkpoint_config(cp));
    free(path);
    return ok;
}

/* ---- The chat format --------------------------------------------------------------------- */

/* The text of a token, as templates insert it; NULL for none. */
static char *token_text(const struct rml_tokenizer *tokenizer, int32_t id)
{
    struct rml_token_info info;
    return id >= 0 && rml_tokenizer_token(tokenizer, id, &info) ? strndup(info.bytes, info.nbytes)
                                                                : NULL;
}

/*
 * A conversation is rendered, and the first special token between the assistant's message and the
 * user's next is the marker. There may be none: some formats end a turn with plain text.
 */
static bool add_from_format(struct collector *c, const struct rml_chat_format *format)
{
    static const char answer[] = "rmlanswer", next[] = "rmlnext";
    const struct rml_chat_message messages[] = {{"user", "rmlfirst", 8},
                                                {"assistant", answer, sizeof answer - 1},
                                                {"user", next, sizeof next - 1}};
    char *bos = token_text(c->tokenizer, rml_tokenizer_bos(c->tokenizer)),
         *eos = token_text(c->tokenizer, rml_tokenizer_eos(c->tokenizer));
    struct rml_bytes text = {0};
    struct rml_ids ids = {0};
    bool ok = rml_chat_render(format, messages, 3, false, bos, eos, &text, c->err);
    char *from = ok ? memmem(text.data, text.n, answer, sizeof answer - 1) : NULL;
    from = from ? from + sizeof answer - 1 : NULL;
    char *to =
        from ? memmem(from, (size_t)(text.data + text.n - from), next, sizeof next - 1) : NULL;
    ok = ok && (!to || rml_tokenizer_encode(c->tokenizer, from, (size_t)(to - from),
                                            RML_PARSE_SPECIAL, &ids, c->err));
    for (size_t i = 0; ok && i < ids.n; i++) {
        struct rml_token_info info;
        /* The unknown token is special, too, but does not stand in the text. */
        if (rml_tokenizer_token(c->tokenizer, ids.ids[i], &info) &&
            info.kind == RML_TOKEN_SPECIAL &&
            memmem(from, (size_t)(to - from), info.bytes, info.nbytes)) {
            ok = add(c, NULL, "the end of a turn", ids.ids[i]);
            break;
        }
    }
    free(bos);
    free(eos);
    rml_bytes_release(&text);
    rml_ids_release(&ids);
    return ok;
}

bool rml_stop_ids(const struct rml_checkpoint *cp, const struct rml_tokenizer *tokenizer,
                  const struct rml_chat_format *format, struct rml_ids *out, struct rml_error *err)
{
    struct collector c = {tokenizer, out, out->n, err};
    int32_t eos = rml_tokenizer_eos(tokenizer);
    bool ok = rml_checkpoint_kind(cp) == RML_CHECKPOINT_GGUF ? add_from_gguf(&c, cp)
                                                             : add_from_folder(&c, cp);
    ok = ok && (eos < 0 || add(&c, NULL, "the EOS token", eos)) &&
         (!format || add_from_format(&c, format));
    if (!ok)
        out->n = c.begin;
    return ok;
}
