/*
 * Chat formats: finding one, rendering and encoding.
 */
#include "text/chat.h"

#include <stdio.h>
#include <string.h>

#include "files/content_hash.h"
#include "text/chat_layout.h"
#include "text/growing.h"
#include "text/tokenizer_private.h"

const struct rml_chat_format *rml_chat_format_by_name(const char *name)
{
    for (size_t i = 0; i < rmli_chat_n_formats; i++)
        if (strcmp(rmli_chat_formats[i].name, name) == 0)
            return &rmli_chat_formats[i];
    return NULL;
}

const struct rml_chat_format *rml_chat_format_at(size_t i)
{
    return i < rmli_chat_n_formats ? &rmli_chat_formats[i] : NULL;
}

const char *rml_chat_format_name(const struct rml_chat_format *format)
{
    return format->name;
}

void rml_chat_format_list(char *out, size_t out_nbytes)
{
    size_t n = 0;
    if (out_nbytes > 0)
        out[0] = 0;
    for (size_t i = 0; i < rmli_chat_n_formats && n < out_nbytes; i++)
        n += (size_t)snprintf(out + n, out_nbytes - n, "%s%s", i > 0 ? ", " : "",
                              rmli_chat_formats[i].name);
}

static const struct rmli_chat_template *find_template(const char *sha256)
{
    size_t low = 0, high = rmli_chat_n_templates;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(sha256, rmli_chat_templates[middle].sha256);
        if (order == 0)
            return &rmli_chat_templates[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

const struct rml_chat_format *rml_chat_format_of_template(const char *chat_template,
                                                          struct rml_error *err)
{
    if (!chat_template) {
        rmli_fail(err, RML_NOT_FOUND, NULL, -1, "the checkpoint has no chat template");
        return NULL;
    }
    size_t nbytes = strlen(chat_template);
    if (nbytes > 0 && chat_template[nbytes - 1] == '\n')
        nbytes--;
    char sha256[RMLI_SHA256_HEX_NBYTES];
    if (!rmli_sha256_bytes(chat_template, nbytes, sha256, err))
        return NULL;
    const struct rmli_chat_template *known = find_template(sha256);
    if (known && known->format)
        return rml_chat_format_by_name(known->format);
    if (known)
        rmli_fail(err, RML_UNSUPPORTED, NULL, -1,
                  "the chat template of %s (SHA-256 %s) is not supported: %s", known->source,
                  sha256, known->reason);
    else
        rmli_fail(err, RML_UNSUPPORTED, NULL, -1,
                  "unknown chat template (SHA-256 %s of %zu bytes); a format can be chosen by name",
                  sha256, nbytes);
    return NULL;
}

bool rml_chat_render(const struct rml_chat_format *format, const struct rml_chat_message *messages,
                     size_t n_messages, bool generation_prompt, const char *bos, const char *eos,
                     struct rml_bytes *out, struct rml_error *err)
{
    struct rmli_chat_layout layout = {0};
    size_t n = out->n;
    bool ok =
        rmli_chat_lay_out(format, messages, n_messages, generation_prompt, bos, eos, &layout, err);
    for (size_t i = 0; ok && i < layout.n; i++)
        ok = rmli_bytes_append(out, layout.spans[i].text, layout.spans[i].nbytes, err);
    if (!ok)
        out->n = n;
    rmli_chat_layout_release(&layout);
    return ok;
}

/* The text of a token as the vocabulary writes it, terminated; *text stays NULL when there is
 * no token. */
static bool text_of_token(const struct rml_tokenizer *tokenizer, int32_t id, char **text,
                          struct rml_error *err)
{
    if (id < 0)
        return true;
    size_t nbytes;
    const char *token = rmli_strings_get(&tokenizer->vocabulary.text, (size_t)id, &nbytes);
    *text = malloc(nbytes + 1);
    if (!*text)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a token's text");
    memcpy(*text, token, nbytes);
    (*text)[nbytes] = '\0';
    return true;
}

bool rml_chat_encode(const struct rml_chat_format *format, const struct rml_tokenizer *tokenizer,
                     const struct rml_chat_message *messages, size_t n_messages,
                     bool generation_prompt, struct rml_ids *out, struct rml_error *err)
{
    struct rmli_chat_layout layout = {0};
    char *bos = NULL, *eos = NULL;
    bool ok = text_of_token(tokenizer, rml_tokenizer_bos(tokenizer), &bos, err) &&
              text_of_token(tokenizer, rml_tokenizer_eos(tokenizer), &eos, err) &&
              rmli_chat_lay_out(format, messages, n_messages, generation_prompt, bos, eos, &layout,
                                err) &&
              rml_tokenizer_encode_spans(tokenizer, layout.spans, layout.n, 0, out, err);
    rmli_chat_layout_release(&layout);
    free(bos);
    free(eos);
    return ok;
}

bool rml_chat_text_init(struct rml_chat_text *text, const struct rml_chat_format *format,
                        const struct rml_tokenizer *tokenizer,
                        const struct rml_chat_message *messages, size_t n_messages,
                        bool generation_prompt, struct rml_error *err)
{
    struct rmli_chat_layout layout = {0};
    struct rml_bytes joined = {0};
    char *bos = NULL, *eos = NULL;
    *text = (struct rml_chat_text){0};
    bool ok =
        text_of_token(tokenizer, rml_tokenizer_bos(tokenizer), &bos, err) &&
        text_of_token(tokenizer, rml_tokenizer_eos(tokenizer), &eos, err) &&
        rmli_chat_lay_out(format, messages, n_messages, generation_prompt, bos, eos, &layout, err);
    for (size_t i = 0; ok && i < layout.n; i++)
        ok = rmli_bytes_append(&joined, layout.spans[i].text, layout.spans[i].nbytes, err);
    if (ok) { /* the spans borrow from one text of their own */
        text->text = joined.data;
        text->nbytes = joined.n;
        text->spans = layout.spans;
        text->n = layout.n;
        for (size_t i = 0, at = 0; i < text->n; at += text->spans[i++].nbytes)
            text->spans[i].text = text->nbytes > 0 ? text->text + at : "";
    } else {
        rml_bytes_release(&joined);
        rmli_chat_layout_release(&layout);
    }
    free(bos);
    free(eos);
    return ok;
}

void rml_chat_text_release(struct rml_chat_text *text)
{
    struct rml_bytes joined = {.data = text->text};
    struct rmli_chat_layout layout = {.spans = text->spans};
    rml_bytes_release(&joined);
    rmli_chat_layout_release(&layout);
    *text = (struct rml_chat_text){0};
}
