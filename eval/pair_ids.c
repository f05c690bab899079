/*
 * The ids of a (context, continuation) pair.
 */
#include "eval/pair_ids.h"

#include <stdlib.h>
#include <string.h>

#include "eval/encode_text.h"
#include "eval/python_text.h"

static const char *const boundaries[3] = {"reencode", "skip", "error"};
static const char *const overlongs[3] = {"truncate", "skip", "error"};

static bool parse_name(const char *const names[3], const char *name, int *value)
{
    for (int i = 0; i < 3; i++)
        if (strcmp(name, names[i]) == 0) {
            *value = i;
            return true;
        }
    return false;
}

bool pair_boundary_parse(const char *name, enum pair_boundary *boundary)
{
    int value;
    if (!parse_name(boundaries, name, &value))
        return false;
    *boundary = (enum pair_boundary)value;
    return true;
}

bool pair_overlong_parse(const char *name, enum pair_overlong *overlong)
{
    int value;
    if (!parse_name(overlongs, name, &value))
        return false;
    *overlong = (enum pair_overlong)value;
    return true;
}

const char *pair_boundary_name(enum pair_boundary boundary)
{
    return boundaries[boundary];
}

const char *pair_overlong_name(enum pair_overlong overlong)
{
    return overlongs[overlong];
}

bool pair_context_init(struct pair_context *context, const struct eval_engine *engine,
                       const struct eval_prompt *prompt, struct rml_error *err)
{
    const struct rml_chat_text *text = &prompt->text;
    size_t kept = python_rstrip_nbytes(text->text, text->nbytes);
    *context = (struct pair_context){.space = text->text + kept,
                                     .space_nbytes = text->nbytes - kept,
                                     .is_chat = prompt->is_chat};
    context->spans = calloc(text->n + 1, sizeof *context->spans);
    if (!context->spans)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a context");
    for (size_t at = 0; at < kept; context->n++) {
        struct rml_text_span *span = &context->spans[context->n];
        *span = text->spans[context->n];
        if (span->nbytes > kept - at)
            span->nbytes = kept - at;
        at += span->nbytes;
    }
    return kept == 0 ||
           encode_spans(engine, context->spans, context->n, text->text, kept, &context->ids, err);
}

void pair_context_release(struct pair_context *context)
{
    free(context->spans);
    rml_ids_release(&context->ids);
    *context = (struct pair_context){0};
}

/* Special-token text in continuations is parsed, but behind a conversation. */
static unsigned parse_flags(const struct pair_context *context)
{
    return context->is_chat ? 0 : RML_PARSE_SPECIAL;
}

/* Rule 3: `text` is the whole continuation. ids[0] is the context. */
static bool encode_without_context(const struct eval_engine *engine,
                                   const struct pair_context *context, const char *text,
                                   size_t nbytes, struct rml_ids *ids, struct rml_error *err)
{
    int32_t prefix;
    struct rml_ids own = {0};
    if (!encode_prefix(engine, &prefix, err) ||
        !eval_engine_encode(engine, text, nbytes, parse_flags(context), &own, err)) {
        rml_ids_release(&own);
        return false;
    }
    bool has_prefix = own.n > 0 && own.ids[0] == prefix;
    size_t n = own.n + !has_prefix;
    ids->ids = malloc((n + 1) * sizeof *ids->ids);
    if (ids->ids) {
        ids->n = ids->capacity = n;
        ids->ids[0] = prefix;
        if (own.n > 0)
            memcpy(ids->ids + !has_prefix, own.ids, own.n * sizeof *own.ids);
    }
    rml_ids_release(&own);
    return ids->ids || rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %zu ids", n);
}

/* Rules 2 and 4: appends the continuation's ids behind the context's. */
static bool encode_with_context(const struct eval_engine *engine,
                                const struct pair_context *context, const char *continuation,
                                size_t n_continuation, const struct pair_rules *rules,
                                struct pair_ids *pair, struct rml_ids *ids, struct rml_error *err)
{
    const struct rml_text_span *first = context->spans;
    context->spans[context->n] = (struct rml_text_span){
        .text = continuation, .nbytes = n_continuation, .trusted = !context->is_chat};
    if (!encode_spans(engine, context->spans, context->n + 1, first->text,
                      (size_t)(context->space - first->text), ids, err))
        return false;
    if (ids->n > context->ids.n) {
        memcpy(ids->ids, context->ids.ids, context->ids.n * sizeof *ids->ids);
        return true;
    }
    if (rules->boundary == PAIR_BOUNDARY_ERROR)
        return rmli_fail(err, RML_FORMAT, NULL, -1,
                         "a token spans the end of the context, so that the continuation has "
                         "none, expected one at least");
    if (rules->boundary == PAIR_BOUNDARY_SKIP) {
        pair->status = PAIR_SKIPPED_BOUNDARY;
        return true;
    }
    pair->is_reencoded = true;
    ids->n = 0;
    struct rml_ids own = {0};
    bool ok =
        eval_engine_encode(engine, continuation, n_continuation, parse_flags(context), &own, err);
    size_t n = context->ids.n + own.n;
    int32_t *grown = ok ? realloc(ids->ids, (n + 1) * sizeof *grown) : NULL;
    if (grown) {
        memcpy(grown, context->ids.ids, context->ids.n * sizeof *grown);
        if (own.n > 0)
            memcpy(grown + context->ids.n, own.ids, own.n * sizeof *grown);
        *ids = (struct rml_ids){.ids = grown, .n = n, .capacity = n + 1};
    }
    rml_ids_release(&own);
    return grown || rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %zu ids", n);
}

/* Rule 5: at most max_length + 1 ids, of which the last one is not fed. */
static bool cut(struct pair_ids *pair, const struct pair_rules *rules, struct rml_error *err)
{
    if (pair->n <= rules->max_length + 1)
        return true;
    size_t n_dropped = pair->n - rules->max_length - 1;
    if (rules->overlong == PAIR_OVERLONG_ERROR)
        return rmli_fail(err, RML_FORMAT, NULL, -1,
                         "%zu tokens found, expected at most %zu (the context's length and one)",
                         pair->n, rules->max_length + 1);
    if (rules->overlong == PAIR_OVERLONG_SKIP || n_dropped >= pair->first_target) {
        pair->status = PAIR_SKIPPED_OVERLONG;
        return true;
    }
    memmove(pair->ids, pair->ids + n_dropped, (pair->n - n_dropped) * sizeof *pair->ids);
    pair->n -= n_dropped;
    pair->first_target -= n_dropped;
    pair->n_truncated = n_dropped;
    return true;
}

bool pair_ids_init(struct pair_ids *pair, const struct eval_engine *engine,
                   const struct pair_context *context, const char *continuation, size_t nbytes,
                   const struct pair_rules *rules, struct rml_error *err)
{
    *pair = (struct pair_ids){.status = PAIR_SCORED};
    size_t n_text = context->space_nbytes + nbytes;
    char *text = malloc(n_text + 1);
    if (!text)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %zu bytes", nbytes);
    memcpy(text, context->space, context->space_nbytes);
    memcpy(text + context->space_nbytes, continuation, nbytes);
    struct rml_ids ids = {0};
    bool empty = context->n == 0;
    bool ok = empty ? encode_without_context(engine, context, text, n_text, &ids, err)
                    : encode_with_context(engine, context, text, n_text, rules, pair, &ids, err);
    pair->ids = ids.ids;
    pair->n = ids.n;
    pair->first_target = empty ? 1 : context->ids.n;
    if (ok && pair->status == PAIR_SCORED && pair->n <= pair->first_target)
        ok = rmli_fail(err, RML_FORMAT, NULL, -1,
                       "the continuation has no tokens, expected one at least");
    ok = ok && (pair->status != PAIR_SCORED || cut(pair, rules, err));
    if (!ok || pair->status != PAIR_SCORED) {
        free(pair->ids);
        pair->ids = NULL;
        pair->n = pair->first_target = 0;
    }
    free(text);
    return ok;
}
