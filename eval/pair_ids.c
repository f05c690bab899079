/*
 * The ids of a (context, continuation) pair.
 */
#include "eval/pair_ids.h"

#include <stdlib.h>
#include <string.h>

#include "eval/encode_text.h"
#include "eval/python_text.h"

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
    static const char *const names[3] = {"reencode", "skip", "error"};
    int value;
    if (!parse_name(names, name, &value))
        return false;
    *boundary = (enum pair_boundary)value;
    return true;
}

bool pair_overlong_parse(const char *name, enum pair_overlong *overlong)
{
    static const char *const names[3] = {"truncate", "skip", "error"};
    int value;
    if (!parse_name(names, name, &value))
        return false;
    *overlong = (enum pair_overlong)value;
    return true;
}

bool pair_context_init(struct pair_context *context, const struct eval_engine *engine,
                       const char *text, size_t nbytes, struct rml_error *err)
{
    size_t kept = python_rstrip_nbytes(text, nbytes);
    *context = (struct pair_context){
        .text = text, .nbytes = kept, .space = text + kept, .space_nbytes = nbytes - kept};
    return kept == 0 || encode_text(engine, text, kept, &context->ids, err);
}

void pair_context_release(struct pair_context *context)
{
    rml_ids_release(&context->ids);
}

/* a + b + c in one piece of memory. */
static char *join(const char *a, size_t n_a, const char *b, size_t n_b, const char *c, size_t n_c)
{
    char *joined = malloc(n_a + n_b + n_c + 1);
    if (!joined)
        return NULL;
    memcpy(joined, a, n_a);
    memcpy(joined + n_a, b, n_b);
    memcpy(joined + n_a + n_b, c, n_c);
    return joined;
}

/* Rule 3: `text` is the whole continuation. ids[0] is the context. */
static bool encode_without_context(const struct eval_engine *engine, const char *text,
                                   size_t nbytes, struct rml_ids *ids, struct rml_error *err)
{
    int32_t prefix;
    struct rml_ids own = {0};
    if (!encode_prefix(engine, &prefix, err) ||
        !eval_engine_encode(engine, text, nbytes, RML_PARSE_SPECIAL, &own, err)) {
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
                                const struct pair_context *context, const char *text, size_t nbytes,
                                const char *continuation, size_t n_continuation,
                                const struct pair_rules *rules, struct pair_ids *pair,
                                struct rml_ids *ids, struct rml_error *err)
{
    if (!encode_text(engine, text, nbytes, ids, err))
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
        eval_engine_encode(engine, continuation, n_continuation, RML_PARSE_SPECIAL, &own, err);
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
    char *text = join(context->text, context->nbytes, context->space, context->space_nbytes,
                      continuation, nbytes);
    if (!text)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %zu bytes", nbytes);
    size_t n_text = context->nbytes + context->space_nbytes + nbytes;
    struct rml_ids ids = {0};
    bool empty = context->nbytes == 0;
    bool ok = empty ? encode_without_context(engine, text, n_text, &ids, err)
                    : encode_with_context(engine, context, text, n_text, text + context->nbytes,
                                          n_text - context->nbytes, rules, pair, &ids, err);
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
