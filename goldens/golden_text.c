/*
 * The text or messages of a case, and the tokens that the checkpoint's tokenizer gives for them.
 */
#include "goldens/golden_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "goldens/golden_name.h"
#include "tools/cli/json_out.h"

/* ---- Encoding ---------------------------------------------------------------- */

static bool encode_messages(const struct rml_tokenizer *tokenizer,
                            const struct golden_source *source, struct rml_ids *out,
                            struct rml_error *err)
{
    const struct rml_chat_format *format =
        source->chat_format
            ? rml_chat_format_by_name(source->chat_format)
            : rml_chat_format_of_template(rml_tokenizer_chat_template(tokenizer), err);
    return format && rml_chat_encode(format, tokenizer, source->conversation.messages,
                                     source->conversation.n, true, out, err);
}

bool golden_encode_text(struct golden_engine *engine, const struct golden_source *source,
                        struct rml_ids *out, struct rml_error *err)
{
    const struct rml_tokenizer *tokenizer = golden_engine_tokenizer(engine, err);
    if (!tokenizer)
        return false;
    if (!source->text)
        return encode_messages(tokenizer, source, out, err);
    unsigned flags = source->add_special ? RML_ADD_SPECIAL : 0U;
    return rml_tokenizer_encode(tokenizer, source->text, source->text_nbytes, flags, out, err);
}

/* ---- Comparing ----------------------------------------------------------------- */

/* The bytes quoted: as text if they are some that cannot drive a terminal, else byte by byte. */
static char *quote(const char *bytes, size_t nbytes)
{
    json_t *json = cli_json_bytes(bytes, nbytes);
    const char *text = json ? json_string_value(json) : "";
    bool harmless = json && json_string_length(json) == nbytes &&
                    memcmp(text, bytes, nbytes) == 0 &&
                    !golden_name_fault(text, nbytes, GOLDEN_PATH_NBYTES);
    char *quoted = harmless ? json_dumps(json, JSON_ENCODE_ANY) : calloc(4 * nbytes + 3, 1);
    json_decref(json);
    if (!quoted || harmless)
        return quoted;
    char *end = quoted;
    *end++ = '"';
    for (size_t i = 0; i < nbytes; i++) {
        unsigned char c = (unsigned char)bytes[i];
        end += sprintf(end, c >= 0x20 && c < 0x7f && c != '"' && c != '\\' ? "%c" : "\\x%02x", c);
    }
    *end = '"';
    return quoted;
}

/* What a token stands for; a long one is cut between characters. */
static void quote_piece(const struct rml_tokenizer *tokenizer, int32_t id, char out[64])
{
    struct rml_token_info info;
    out[0] = 0;
    if (id < 0 || !rml_tokenizer_token(tokenizer, id, &info))
        return;
    char *quoted = quote(info.bytes, info.nbytes);
    size_t n = quoted ? strlen(quoted) : 0, cut = n;
    if (n > 63)
        for (cut = 60; ((unsigned char)quoted[cut] & 0xc0) == 0x80;)
            cut--;
    if (quoted)
        snprintf(out, 64, "%.*s%s", (int)cut, quoted, cut < n ? "..." : "");
    free(quoted);
}

static void compare_ids(const struct rml_tokenizer *tokenizer, const struct rml_ids *got,
                        const struct golden_case *c, struct golden_outcome *outcome)
{
    size_t i = 0;
    while (i < got->n && i < c->n_tokens && got->ids[i] == c->tokens[i])
        i++;
    if (i == got->n && i == c->n_tokens) {
        outcome->text = GOLDEN_TEXT_EQUAL;
        return;
    }
    struct golden_token_deviation *token = &outcome->token;
    token->index = i;
    token->got = i < got->n ? got->ids[i] : -1;
    token->want = i < c->n_tokens ? c->tokens[i] : -1;
    quote_piece(tokenizer, token->got, token->got_piece);
    quote_piece(tokenizer, token->want, token->want_piece);
    outcome->text = GOLDEN_TEXT_DIFFERS;
    outcome->passed = false;
}

void golden_compare_text(struct golden_engine *engine, const struct golden_case *c,
                         struct golden_outcome *outcome, struct rml_error *why)
{
    outcome->text = GOLDEN_NO_TEXT;
    if (!golden_case_has_text(c))
        return;
    struct rml_ids ids = {0};
    if (golden_encode_text(engine, &c->source, &ids, why))
        compare_ids(engine->tokenizer, &ids, c, outcome);
    else
        outcome->text = GOLDEN_TEXT_NOT_COMPARED;
    rml_ids_release(&ids);
}

/* "id 17 "foo"", "the end". */
static void name_token(int32_t id, const char *piece, char out[96])
{
    if (id < 0)
        snprintf(out, 96, "the end");
    else
        snprintf(out, 96, "id %d%s%s", (int)id, piece[0] ? " " : "", piece);
}

void golden_token_deviation_text(const struct golden_token_deviation *d, char *text, size_t nbytes)
{
    char got[96], want[96];
    name_token(d->got, d->got_piece, got);
    name_token(d->want, d->want_piece, want);
    snprintf(text, nbytes, "token %zu: %s found, expected %s", d->index, got, want);
}
