/*
 * Questions as requests of the scorer.
 */
#include "eval/choice_requests.h"

#include <stdlib.h>
#include <string.h>

#include "tools/cli/report.h"

/* So many choices whose boundary a token spans are told of one by one. */
#define MAX_TOLD 10

struct builder {
    struct choice_requests *out;
    const struct eval_engine *engine;
    const struct choice_rules *rules;
    const char *file;
    size_t capacity;
};

static bool no_memory(struct rml_error *err)
{
    return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the requests");
}

/* *err with the item's place instead of none. */
static bool at_line(const struct builder *b, const struct choice_item *item, size_t choice,
                    const struct rml_error *why, struct rml_error *err)
{
    if ((why->code != RML_FORMAT && why->code != RML_INVALID_ARGUMENT) || why->file[0])
        return rmli_fail(err, why->code, why->file, why->offset, "%s", why->message);
    return rmli_fail(err, why->code, item->file ? item->file : b->file, -1,
                     "line %zu: choice %zu: %s", item->line, choice, why->message);
}

static bool add_request(struct builder *b, const struct choice_item *item, size_t idx,
                        struct pair_ids *pair, struct rml_error *err)
{
    struct choice_requests *out = b->out;
    if (out->n == b->capacity) {
        size_t capacity = 2 * b->capacity + 64;
        struct eval_request *grown = realloc(out->requests, capacity * sizeof *grown);
        if (!grown) {
            free(pair->ids);
            return no_memory(err);
        }
        out->requests = grown;
        b->capacity = capacity;
    }
    out->requests[out->n++] = (struct eval_request){.tokens = pair->ids,
                                                    .n_tokens = pair->n,
                                                    .first_target = pair->first_target,
                                                    .doc_id = item->doc_id,
                                                    .choice_idx = (int64_t)idx,
                                                    .n_truncated = pair->n_truncated};
    return true;
}

static void tell_boundary(struct builder *b, const struct choice_item *item, size_t choice)
{
    if (b->out->n_reencoded++ < MAX_TOLD)
        cli_note("%s: line %zu: choice %zu: a token spans the end of the context; the choice is "
                 "encoded alone",
                 item->file ? item->file : b->file, item->line, choice);
}

/* What follows a context: the delimiter and the choice. The choice alone, which
 * acc_mutual_info needs, has its delimiter too, as lm-eval asks it. */
static char *continuation(const struct builder *b, const struct choice_text *choice, size_t *nbytes)
{
    size_t n_delimiter = strlen(b->rules->delimiter);
    char *text = malloc(n_delimiter + choice->nbytes + 1);
    if (!text)
        return NULL;
    memcpy(text, b->rules->delimiter, n_delimiter);
    memcpy(text + n_delimiter, choice->data, choice->nbytes);
    *nbytes = n_delimiter + choice->nbytes;
    return text;
}

static bool encode_choice(struct builder *b, const struct choice_item *item,
                          const struct pair_context *context, size_t i, bool alone,
                          struct choice_slots *slots, struct rml_error *err)
{
    size_t nbytes;
    char *text = continuation(b, &item->choices[i], &nbytes);
    if (!text)
        return no_memory(err);
    struct pair_ids pair;
    struct rml_error why = RML_ERROR_INIT;
    bool ok = pair_ids_init(&pair, b->engine, context, text, nbytes, &b->rules->pair, &why);
    free(text);
    if (!ok)
        return at_line(b, item, i, &why, err);
    if (pair.is_reencoded)
        tell_boundary(b, item, i);
    if (pair.status != PAIR_SCORED) {
        if (slots->status == PAIR_SCORED)
            slots->status = pair.status;
        return true;
    }
    if (pair.n_truncated > slots->n_truncated)
        slots->n_truncated = pair.n_truncated;
    return add_request(b, item, i + (alone ? item->n_choices : 0), &pair, err);
}

static bool encode_item(struct builder *b, const struct choice_item *item, bool alone,
                        struct choice_slots *slots, struct rml_error *err)
{
    struct eval_prompt prompt = {0};
    struct pair_context context = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < item->n_choices; i++) {
        if (i == 0 || item->n_contexts > 1) {
            struct rml_error why = RML_ERROR_INIT;
            pair_context_release(&context);
            eval_prompt_release(&prompt);
            ok = (alone ? eval_prompt_init_empty(&prompt, &b->rules->chat, &why)
                        : eval_prompt_init(&prompt, b->engine, &b->rules->chat, item,
                                           item->n_contexts > 1 ? i : 0, &why)) &&
                 pair_context_init(&context, b->engine, &prompt, &why);
            ok = ok || at_line(b, item, i, &why, err);
        }
        ok = ok && encode_choice(b, item, &context, i, alone, slots, err);
    }
    pair_context_release(&context);
    eval_prompt_release(&prompt);
    return ok;
}

static bool encode_slots(struct builder *b, const struct choice_items *items, size_t which,
                         struct rml_error *err)
{
    struct choice_requests *out = b->out;
    const struct choice_item *item = &items->items[which];
    struct choice_slots *slots = &out->slots[out->n_slots++];
    *slots = (struct choice_slots){.item = which, .first = out->n};
    if (!encode_item(b, item, false, slots, err) ||
        (b->rules->mutual_info && !encode_item(b, item, true, slots, err)))
        return false;
    if (slots->status != PAIR_SCORED) { /* all of an item or nothing */
        while (out->n > slots->first)
            free((int32_t *)(uintptr_t)out->requests[--out->n].tokens);
        out->n_skipped++;
    }
    slots->n = out->n - slots->first;
    out->n_truncated += slots->n > 0 && slots->n_truncated > 0;
    return true;
}

bool choice_requests_init(struct choice_requests *out, const struct eval_engine *engine,
                          const struct choice_items *items, const size_t *chosen, size_t n_chosen,
                          const char *file, const struct choice_rules *rules, struct rml_error *err)
{
    *out = (struct choice_requests){0};
    struct builder b = {.out = out, .engine = engine, .rules = rules, .file = file};
    out->slots = calloc(n_chosen + 1, sizeof *out->slots);
    bool ok = out->slots || no_memory(err);
    for (size_t i = 0; ok && i < n_chosen; i++) {
        cli_progress("encoding item %zu of %zu", i + 1, n_chosen);
        ok = encode_slots(&b, items, chosen[i], err);
    }
    cli_progress_clear();
    if (ok && out->n_reencoded > MAX_TOLD)
        cli_note("%s: a token spans the end of the context in %zu choices", file, out->n_reencoded);
    if (!ok)
        choice_requests_release(out);
    return ok;
}

void choice_requests_release(struct choice_requests *requests)
{
    for (size_t i = 0; i < requests->n; i++)
        free((int32_t *)(uintptr_t)requests->requests[i].tokens);
    free(requests->requests);
    free(requests->slots);
    *requests = (struct choice_requests){0};
}
