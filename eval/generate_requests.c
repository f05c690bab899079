/*
 * Items as prompts to be replied to.
 */
#include "eval/generate_requests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/encode_text.h"
#include "eval/request_key.h"

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

/* An empty text is no ids, without BOS. */
static bool encode_item(const struct eval_engine *engine, const struct chat_options *chat,
                        const struct choice_item *item, struct rml_ids *ids, struct rml_error *err)
{
    struct eval_prompt prompt;
    struct rml_error why = RML_ERROR_INIT;
    bool ok = eval_prompt_init(&prompt, engine, chat, item, 0, &why);
    const struct rml_chat_text *text = &prompt.text;
    if (ok && text->nbytes > 0)
        ok = encode_spans(engine, text->spans, text->n, text->text, text->nbytes, ids, &why);
    eval_prompt_release(&prompt);
    if (!ok && why.code == RML_INVALID_ARGUMENT && !why.file[0])
        return rmli_fail(err, why.code, item->file, -1, "line %zu: %s", item->line, why.message);
    return ok || rmli_fail(err, why.code, why.file, why.offset, "%s", why.message);
}

static bool make_request(const struct eval_engine *engine, const struct generate_rules *rules,
                         const struct chat_options *chat, const struct choice_item *item,
                         size_t max_length, uint64_t seed, struct generate_request *request,
                         struct rml_error *err)
{
    struct rml_ids ids = {0};
    *request = (struct generate_request){.doc_id = item->doc_id};
    bool ok = encode_item(engine, chat, item, &ids, err);
    int32_t prefix = 0;
    if (ok && ids.n == 0)
        ok = encode_prefix(engine, &prefix, err);
    const int32_t *from = ids.n > 0 ? ids.ids : &prefix;
    size_t n = ids.n > 0 ? ids.n : 1, room = max_length - rules->max_tokens;
    if (ok && n > room) {
        request->n_truncated = n - room;
        from += n - room;
        n = room;
    }
    request->n_prompt = n;
    request->ids = ok ? malloc((n + rules->max_tokens) * sizeof *request->ids) : NULL;
    request->logprobs = ok ? malloc(rules->max_tokens * sizeof *request->logprobs) : NULL;
    if (ok && (!request->ids || !request->logprobs))
        ok = rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the prompts");
    if (ok)
        memcpy(request->ids, from, n * sizeof *from);
    rml_ids_release(&ids);
    return ok && seed_of(seed, item->doc_id, &request->seed, err);
}

bool generate_requests_init(struct generate_requests *out, const struct eval_engine *engine,
                            struct generate_rules *rules, const struct chat_options *chat,
                            const struct choice_items *items, const size_t *chosen, size_t n_chosen,
                            size_t max_length, uint64_t seed, struct rml_error *err)
{
    *out = (struct generate_requests){0};
    if (rules->max_tokens >= max_length)
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                         "replies of %zu tokens leave no room for a prompt in a context of %zu",
                         rules->max_tokens, max_length);
    out->requests = calloc(n_chosen + 1, sizeof *out->requests);
    bool ok = out->requests
                  ? rml_stop_ids(rml_model_checkpoint(engine->model), engine->tokenizer,
                                 chat->format, &out->stops, err)
                  : rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %zu prompts", n_chosen);
    rules->stop_ids = out->stops.ids;
    rules->n_stop_ids = out->stops.n;
    for (size_t i = 0; ok && i < n_chosen; i++)
        ok = make_request(engine, rules, chat, &items->items[chosen[i]], max_length, seed,
                          &out->requests[out->n++], err);
    if (!ok)
        generate_requests_release(out);
    return ok;
}

void generate_requests_release(struct generate_requests *requests)
{
    for (size_t i = 0; i < requests->n; i++) {
        free(requests->requests[i].ids);
        free(requests->requests[i].logprobs);
    }
    free(requests->requests);
    rml_ids_release(&requests->stops);
    *requests = (struct generate_requests){0};
}
