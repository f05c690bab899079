/*
 * The tree of common prefixes, from the sorted order and the lengths that neighbours share.
 */
#include "eval/prefix_tree.h"

#include <stdlib.h>
#include <string.h>

/* ---- Order ----------------------------------------------------------------------------- */

static int compare(const void *a, const void *b, void *requests)
{
    size_t ia = *(const size_t *)a, ib = *(const size_t *)b;
    const struct eval_request *x = (const struct eval_request *)requests + ia;
    const struct eval_request *y = (const struct eval_request *)requests + ib;
    size_t nx = eval_n_fed(x), ny = eval_n_fed(y), n = nx < ny ? nx : ny;
    for (size_t i = 0; i < n; i++)
        if (x->tokens[i] != y->tokens[i])
            return x->tokens[i] < y->tokens[i] ? -1 : 1;
    if (nx != ny)
        return nx < ny ? -1 : 1;
    return (ia > ib) - (ia < ib);
}

/* How many ids the model is fed alike in two requests, from the first on. */
static size_t shared(const struct eval_request *x, const struct eval_request *y)
{
    size_t nx = eval_n_fed(x), ny = eval_n_fed(y), n = nx < ny ? nx : ny, i = 0;
    while (i < n && x->tokens[i] == y->tokens[i])
        i++;
    return i;
}

/* ---- Nodes ----------------------------------------------------------------------------- */

/* A range of requests that agree up to `begin`, and the node (or none) that ends there. */
struct range {
    size_t lo, hi, begin, parent;
};

struct builder {
    struct prefix_tree *tree;
    const struct eval_request *requests;
    const size_t *lcp; /* [n] shared ids of order[i - 1] and order[i] */
    struct range *stack;
    size_t n_stack, stack_capacity;
    size_t *last_child; /* [capacity of nodes] where the next sibling is linked */
    size_t last_root;
};

static bool push(struct builder *b, struct range range, struct rml_error *err)
{
    if (b->n_stack == b->stack_capacity) {
        size_t capacity = 2 * b->stack_capacity + 64;
        struct range *grown = realloc(b->stack, capacity * sizeof *grown);
        if (!grown)
            return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory to sort requests");
        b->stack = grown;
        b->stack_capacity = capacity;
    }
    b->stack[b->n_stack++] = range;
    return true;
}

static bool grow_nodes(struct builder *b, struct rml_error *err)
{
    struct prefix_tree *tree = b->tree;
    if (tree->n_nodes < tree->capacity)
        return true;
    size_t capacity = 2 * tree->capacity + 64;
    struct prefix_node *nodes = realloc(tree->nodes, capacity * sizeof *nodes);
    if (nodes)
        tree->nodes = nodes;
    size_t *last = nodes ? realloc(b->last_child, capacity * sizeof *last) : NULL;
    if (!last)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory to sort requests");
    b->last_child = last;
    tree->capacity = capacity;
    return true;
}

static size_t pages_between(size_t begin, size_t end)
{
    return (end + RML_PAGE_TOKENS - 1) / RML_PAGE_TOKENS - begin / RML_PAGE_TOKENS;
}

/* The node of range.lo .. hi with the ids from range.begin to end. EVAL_NO_NODE on failure. */
static size_t add_node(struct builder *b, const struct range *range, size_t end,
                       struct rml_error *err)
{
    if (!grow_nodes(b, err))
        return EVAL_NO_NODE;
    struct prefix_tree *tree = b->tree;
    size_t id = tree->n_nodes++;
    size_t first_wanted = end;
    for (size_t i = range->lo; i < range->hi; i++) {
        size_t first = b->requests[tree->order[i]].first_target - 1;
        first_wanted = first < first_wanted ? first : first_wanted;
    }
    tree->nodes[id] = (struct prefix_node){
        .lo = range->lo,
        .hi = range->hi,
        .begin = range->begin,
        .end = end,
        .parent = range->parent,
        .first_child = EVAL_NO_NODE,
        .next_sibling = EVAL_NO_NODE,
        .first_wanted = first_wanted < range->begin ? range->begin : first_wanted,
        .n_pages = pages_between(range->begin, end),
    };
    b->last_child[id] = EVAL_NO_NODE;
    size_t *last = range->parent == EVAL_NO_NODE ? &b->last_root : &b->last_child[range->parent];
    if (*last != EVAL_NO_NODE)
        tree->nodes[*last].next_sibling = id;
    else if (range->parent == EVAL_NO_NODE)
        tree->first_root = id;
    else
        tree->nodes[range->parent].first_child = id;
    *last = id;
    if (range->parent != EVAL_NO_NODE)
        tree->nodes[range->parent].n_children++;
    tree->max_depth = end > tree->max_depth ? end : tree->max_depth;
    tree->n_ids += end - range->begin;
    return id;
}

/* True when the requests at i - 1 and i of the order belong into different parts of a range
 * that agrees up to `common`. */
static bool parts_at(const struct builder *b, size_t i, size_t common)
{
    const size_t *order = b->tree->order;
    bool identical = eval_n_fed(&b->requests[order[i - 1]]) == common &&
                     eval_n_fed(&b->requests[order[i]]) == common && b->lcp[i] == common;
    return b->lcp[i] <= common && !identical;
}

/* Pushes the parts of a range that agree beyond `common`, the first on top. Requests that end
 * at `common` are done with when `parent` is the node that ends there. */
static bool split(struct builder *b, const struct range *range, size_t common, size_t parent,
                  struct rml_error *err)
{
    bool has_node = parent != range->parent;
    for (size_t hi = range->hi, i = hi; i-- > range->lo;) {
        if (i > range->lo && !parts_at(b, i, common))
            continue;
        bool ended = eval_n_fed(&b->requests[b->tree->order[i]]) == common;
        struct range part = {
            .lo = i, .hi = hi, .begin = has_node ? common : range->begin, .parent = parent};
        if (!(ended && has_node) && !push(b, part, err))
            return false;
        hi = i;
    }
    return true;
}

static bool build(struct builder *b, bool share, struct rml_error *err)
{
    while (b->n_stack > 0) {
        struct range range = b->stack[--b->n_stack];
        size_t count = range.hi - range.lo;
        size_t common = eval_n_fed(&b->requests[b->tree->order[range.lo]]);
        size_t longest = common;
        for (size_t i = range.lo + 1; i < range.hi; i++) {
            size_t n_fed = eval_n_fed(&b->requests[b->tree->order[i]]);
            common = b->lcp[i] < common ? b->lcp[i] : common;
            longest = n_fed > longest ? n_fed : longest;
        }
        /* The same ids throughout are run once, however few they are. */
        bool same = common == longest;
        bool worth =
            share && common > range.begin && (common - range.begin) * (count - 1) >= EVAL_MIN_SAVED;
        size_t parent = range.parent;
        if (count == 1 || (share && same) || worth) {
            parent = add_node(b, &range, common, err);
            if (parent == EVAL_NO_NODE)
                return false;
        }
        if (count > 1 && !(share && same) && !split(b, &range, common, parent, err))
            return false;
    }
    return true;
}

/* Children come after their parents, so one pass from the end sees them first. */
static void sum_chains(struct prefix_tree *tree)
{
    for (size_t i = tree->n_nodes; i-- > 0;) {
        struct prefix_node *node = &tree->nodes[i];
        node->chain_pages += node->n_pages; /* it holds the dearest child's by now */
        size_t *above = node->parent == EVAL_NO_NODE ? &tree->chain_pages
                                                     : &tree->nodes[node->parent].chain_pages;
        *above = node->chain_pages > *above ? node->chain_pages : *above;
    }
}

bool prefix_tree_init(struct prefix_tree *tree, const struct eval_request *requests,
                      const size_t *chosen, size_t n_chosen, bool share, struct rml_error *err)
{
    *tree = (struct prefix_tree){.first_root = EVAL_NO_NODE, .n_requests = n_chosen};
    struct builder b = {.tree = tree, .requests = requests, .last_root = EVAL_NO_NODE};
    size_t *lcp = calloc(n_chosen + 1, sizeof *lcp);
    tree->order = calloc(n_chosen + 1, sizeof *tree->order);
    bool ok = lcp && tree->order;
    if (!ok)
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory to sort %zu requests", n_chosen);
    if (ok && n_chosen > 0) {
        memcpy(tree->order, chosen, n_chosen * sizeof *chosen);
        qsort_r(tree->order, n_chosen, sizeof *tree->order, compare, (void *)(uintptr_t)requests);
        for (size_t i = 1; share && i < n_chosen; i++)
            lcp[i] = shared(&requests[tree->order[i - 1]], &requests[tree->order[i]]);
        b.lcp = lcp;
        struct range all = {.lo = 0, .hi = n_chosen, .parent = EVAL_NO_NODE};
        ok = push(&b, all, err) && build(&b, share, err);
    }
    sum_chains(tree);
    free(lcp);
    free(b.stack);
    free(b.last_child);
    if (!ok)
        prefix_tree_release(tree);
    return ok;
}

void prefix_tree_release(struct prefix_tree *tree)
{
    free(tree->order);
    free(tree->nodes);
    *tree = (struct prefix_tree){.first_root = EVAL_NO_NODE};
}
