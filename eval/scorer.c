/*
 * The schedule: which nodes of the prefix tree run in which pass.
 *
 * Ready nodes (their parent has run) lie on a stack, children above what waited before them, so
 * the walk is depth first and few sequences are alive at a time. A pass takes nodes from the
 * top until it has its rows; a node that is longer than the room left runs a piece and stays.
 *
 * Pages cannot run out. Let C be tree.chain_pages, what the dearest line from a root to a leaf
 * takes up; the cache has at least C pages. The first node of a pass is always let in; any other
 * only if C pages stay free after it. Whenever the top of the stack is not a descendant of a node
 * that was let in first, C pages are free, as what lay above it has been given back; from there
 * on, nodes let in first form one line, whose pages fit into C.
 */
#include "eval/scorer.h"

#include <stdlib.h>
#include <string.h>

#include "eval/log_softmax.h"
#include "eval/nonfinite.h"
#include "eval/prefix_tree.h"
#include "tools/cli/options.h"

#define DEFAULT_BATCH_ROWS 512
#define DEFAULT_CACHE_NBYTES ((size_t)1 << 30)

/* A node that is being run, or waits for its children. */
struct running {
    struct rml_sequence *sequence; /* NULL before it starts and when it is over */
    size_t n_done;                 /* depth up to which it has run; 0: not started */
    size_t n_open;                 /* children not over */
};

/* A row of the pass whose logits are wanted. */
struct wanted_row {
    size_t node, depth;
};

struct scorer {
    const struct eval_engine *engine;
    const struct eval_request *requests;
    struct eval_score *scores;
    struct prefix_tree tree;
    size_t batch_rows, n_pages, n_pages_used;
    struct rml_context *context;
    struct rml_kv_cache *cache;
    struct running *running; /* [n_nodes] */
    size_t *stack;           /* [n_nodes] ready nodes, the next one last */
    size_t n_stack;

    /* The pass. */
    struct rml_segment *segments; /* [batch_rows] */
    size_t *segment_nodes;        /* [batch_rows] */
    size_t n_segments, n_rows;
    struct wanted_row *wanted; /* [batch_rows] rows with logits, in order */
    size_t n_wanted;
    struct logit_row *rows; /* [batch_rows] */
    struct nonfinite bad;   /* where the first NaN or infinite logit was */

    size_t *finished; /* [n_requests] requests finished by the pass */
    size_t n_finished;
    struct scorer_progress progress;
};

/* ---- Scores from logits ------------------------------------------------------------------ */

/* The requests that go through a row and score the id after it. */
static void take_row(struct scorer *s, const struct wanted_row *at, const struct logit_row *row,
                     const float *logits)
{
    const struct prefix_node *node = &s->tree.nodes[at->node];
    for (size_t i = node->lo; i < node->hi; i++) {
        const struct eval_request *request = &s->requests[s->tree.order[i]];
        size_t target = at->depth + 1;
        if (target < request->first_target || target >= request->n_tokens)
            continue;
        struct eval_score *score = &s->scores[s->tree.order[i]];
        int32_t id = request->tokens[target];
        score->logprobs[target - request->first_target] = (double)logits[id] - row->logsumexp;
        score->is_greedy = (target == request->first_target || score->is_greedy) && row->best == id;
    }
}

static bool take_logits(void *user, size_t first, size_t n_rows, const float *logits)
{
    struct scorer *s = user;
    size_t n_vocab = s->engine->n_vocab;
    log_softmax_rows(s->engine->pool, logits, n_rows, n_vocab, s->rows);
    for (size_t r = 0; r < n_rows; r++) {
        const struct wanted_row *at = &s->wanted[first + r];
        const float *row = logits + r * n_vocab;
        if (s->rows[r].bad >= 0) {
            size_t request = s->tree.order[s->tree.nodes[at->node].lo];
            s->bad = (struct nonfinite){.request = &s->requests[request],
                                        .position = at->depth,
                                        .id = s->rows[r].bad,
                                        .value = row[s->rows[r].bad]};
            return false;
        }
        take_row(s, at, &s->rows[r], row);
    }
    return true;
}

/* ---- Filling a pass ------------------------------------------------------------------------ */

/* Begins a node: its sequence shares what its parent has. */
static bool start_node(struct scorer *s, size_t id, struct rml_error *err)
{
    const struct prefix_node *node = &s->tree.nodes[id];
    struct running *r = &s->running[id];
    r->sequence = node->parent == EVAL_NO_NODE
                      ? rml_sequence_create(s->cache, s->tree.max_depth, err)
                      : rml_sequence_fork(s->running[node->parent].sequence, node->begin, err);
    if (!r->sequence)
        return false;
    r->n_done = node->begin;
    r->n_open = node->n_children;
    s->n_pages_used += node->n_pages;
    return true;
}

static void add_segment(struct scorer *s, size_t id)
{
    const struct prefix_node *node = &s->tree.nodes[id];
    const struct eval_request *request = &s->requests[s->tree.order[node->lo]];
    size_t begin = s->running[id].n_done, room = s->batch_rows - s->n_rows;
    size_t end = node->end - begin < room ? node->end : begin + room;
    size_t first = node->first_wanted > begin ? node->first_wanted : begin;
    size_t n_wanted = first < end ? end - first : 0;
    for (size_t i = 0; i < n_wanted; i++)
        s->wanted[s->n_wanted++] = (struct wanted_row){.node = id, .depth = first + i};
    s->segments[s->n_segments] = (struct rml_segment){.sequence = s->running[id].sequence,
                                                      .tokens = request->tokens + begin,
                                                      .n_tokens = end - begin,
                                                      .n_logit_rows = n_wanted};
    s->segment_nodes[s->n_segments++] = id;
    s->n_rows += end - begin;
}

/* Takes nodes from the top of the stack; a node that will not be through stays for the next
 * pass, as the last one taken. */
static bool fill_pass(struct scorer *s, struct rml_error *err)
{
    s->n_segments = s->n_rows = s->n_wanted = 0;
    for (size_t at = s->n_stack; at-- > 0 && s->n_rows < s->batch_rows;) {
        size_t id = s->stack[at];
        bool started = s->running[id].sequence != NULL;
        size_t n_free = s->n_pages - s->n_pages_used;
        if (!started && s->n_segments > 0 &&
            n_free < s->tree.chain_pages + s->tree.nodes[id].n_pages)
            break;
        if (!started && !start_node(s, id, err))
            return false;
        add_segment(s, id);
    }
    return true;
}

/* ---- After a pass ---------------------------------------------------------------------------- */

/* A node is over when it and all its children have run; its parent may then be, too. */
static void close_node(struct scorer *s, size_t id)
{
    while (id != EVAL_NO_NODE && s->running[id].n_open == 0) {
        rml_sequence_destroy(s->running[id].sequence);
        s->running[id].sequence = NULL;
        s->n_pages_used -= s->tree.nodes[id].n_pages;
        id = s->tree.nodes[id].parent;
        if (id != EVAL_NO_NODE)
            s->running[id].n_open--;
    }
}

/* Of a node that has run to its end: the requests that end there, and its children. */
static void finish_node(struct scorer *s, size_t id)
{
    const struct prefix_node *node = &s->tree.nodes[id];
    for (size_t i = node->lo; i < node->hi; i++) {
        size_t request = s->tree.order[i];
        if (eval_n_fed(&s->requests[request]) != node->end)
            break; /* they are sorted: those that end here come first */
        s->scores[request].is_done = true;
        s->finished[s->n_finished++] = request;
        s->progress.n_done++;
    }
    /* The first child on top. */
    size_t begin = s->n_stack;
    for (size_t child = node->first_child; child != EVAL_NO_NODE;
         child = s->tree.nodes[child].next_sibling)
        s->stack[s->n_stack++] = child;
    for (size_t i = begin, j = s->n_stack; i + 1 < j; i++) {
        size_t swapped = s->stack[i];
        s->stack[i] = s->stack[--j];
        s->stack[j] = swapped;
    }
    close_node(s, id);
}

static void finish_pass(struct scorer *s)
{
    /* Nodes were taken from the top down. The last may have to stay; the children of the first
     * go on top of those of the others. */
    s->n_finished = 0;
    size_t last = s->segment_nodes[s->n_segments - 1];
    for (size_t i = 0; i < s->n_segments; i++)
        s->running[s->segment_nodes[i]].n_done += s->segments[i].n_tokens;
    bool stays = s->running[last].n_done < s->tree.nodes[last].end;
    s->n_stack -= s->n_segments - stays;
    for (size_t i = s->n_segments - stays; i-- > 0;)
        finish_node(s, s->segment_nodes[i]);
    s->progress.n_rows += s->n_rows;
}

/* ---- All passes -------------------------------------------------------------------------------- */

static bool run_passes(struct scorer *s, scorer_finished_fn *finished, void *user,
                       struct rml_error *err)
{
    for (size_t root = s->tree.first_root; root != EVAL_NO_NODE;
         root = s->tree.nodes[root].next_sibling)
        s->stack[s->n_stack++] = root;
    for (size_t i = 0, j = s->n_stack; i + 1 < j; i++) {
        size_t swapped = s->stack[i];
        s->stack[i] = s->stack[--j];
        s->stack[j] = swapped;
    }
    while (s->n_stack > 0) {
        if (cli_interrupted())
            return rmli_fail(err, RML_CANCELLED, NULL, -1, "interrupted");
        if (!fill_pass(s, err))
            return false;
        struct rml_batch batch = {.segments = s->segments,
                                  .n_segments = s->n_segments,
                                  .consumer = take_logits,
                                  .user = s};
        struct rml_error pass_err = RML_ERROR_INIT;
        if (!rml_forward(s->context, &batch, &pass_err)) {
            if (s->bad.request)
                return nonfinite_explain(s->engine, &s->bad, err);
            return rmli_fail(err, pass_err.code, s->engine->name, pass_err.offset, "%s",
                             pass_err.message);
        }
        finish_pass(s);
        if (finished && !finished(user, s->finished, s->n_finished, &s->progress, err))
            return rmli_fail(err, RML_CANCELLED, NULL, -1, "stopped");
    }
    return true;
}

static bool allocate(struct scorer *s, const struct scorer_options *options, struct rml_error *err)
{
    size_t n_nodes = s->tree.n_nodes, rows = s->batch_rows;
    s->running = calloc(n_nodes, sizeof *s->running);
    s->stack = calloc(n_nodes, sizeof *s->stack);
    s->segments = calloc(rows, sizeof *s->segments);
    s->segment_nodes = calloc(rows, sizeof *s->segment_nodes);
    s->wanted = calloc(rows, sizeof *s->wanted);
    s->rows = calloc(rows, sizeof *s->rows);
    s->finished = calloc(s->tree.n_requests, sizeof *s->finished);
    if (!s->running || !s->stack || !s->segments || !s->segment_nodes || !s->wanted || !s->rows ||
        !s->finished)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory to score %zu requests",
                         s->tree.n_requests);
    struct rml_kv_shape shape = rml_model_kv_shape(s->engine->model, s->engine->settings.k_dtype,
                                                   s->engine->settings.v_dtype);
    size_t page_nbytes = rml_kv_page_nbytes(&shape);
    size_t cache_nbytes = options->cache_nbytes ? options->cache_nbytes : DEFAULT_CACHE_NBYTES;
    s->n_pages = s->tree.chain_pages + (page_nbytes ? cache_nbytes / page_nbytes : 0);
    s->context = eval_engine_context(s->engine, s->tree.max_depth, rows, err);
    s->cache = s->context ? eval_engine_cache(s->engine, s->n_pages, err) : NULL;
    return s->cache != NULL;
}

static void release(struct scorer *s)
{
    for (size_t i = 0; s->running && i < s->tree.n_nodes; i++)
        rml_sequence_destroy(s->running[i].sequence);
    rml_kv_cache_destroy(s->cache);
    rml_context_destroy(s->context);
    free(s->running);
    free(s->stack);
    free(s->segments);
    free(s->segment_nodes);
    free(s->wanted);
    free(s->rows);
    free(s->finished);
    prefix_tree_release(&s->tree);
}

bool scorer_run(const struct eval_engine *engine, const struct eval_request *requests,
                const size_t *chosen, size_t n_chosen, struct eval_score *scores,
                const struct scorer_options *options, scorer_finished_fn *finished, void *user,
                struct rml_error *err)
{
    static const struct scorer_options defaults = {0};
    if (!options)
        options = &defaults;
    if (n_chosen == 0)
        return true;
    struct scorer s = {.engine = engine, .requests = requests, .scores = scores};
    s.batch_rows = options->batch_rows ? options->batch_rows : DEFAULT_BATCH_ROWS;
    bool ok = prefix_tree_init(&s.tree, requests, chosen, n_chosen, !options->without_sharing, err);
    s.progress = (struct scorer_progress){.n_requests = n_chosen, .n_rows_all = s.tree.n_ids};
    ok = ok && allocate(&s, options, err) && run_passes(&s, finished, user, err);
    release(&s);
    return ok;
}

bool eval_scores_init(struct eval_scores *scores, const struct eval_request *requests, size_t n,
                      struct rml_error *err)
{
    size_t n_targets = 0;
    for (size_t i = 0; i < n; i++)
        n_targets += eval_n_targets(&requests[i]);
    scores->scores = calloc(n + 1, sizeof *scores->scores);
    scores->values = calloc(n_targets + 1, sizeof *scores->values);
    if (!scores->scores || !scores->values) {
        eval_scores_release(scores);
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %zu scores", n_targets);
    }
    double *at = scores->values;
    for (size_t i = 0; i < n; i++) {
        scores->scores[i].logprobs = at;
        at += eval_n_targets(&requests[i]);
    }
    return true;
}

void eval_scores_release(struct eval_scores *scores)
{
    free(scores->scores);
    free(scores->values);
    *scores = (struct eval_scores){0};
}
