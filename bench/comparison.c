#include "bench/comparison.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "tools/cli/options.h"
#include "tools/cli/report.h"

#define LIMIT_SECONDS 600 /* for one request to a child */

/* Blocks that one pair of processes runs. What a process was given when it started (where its
 * memory lies, among other things) can make it some per cent faster or slower for as long as it
 * lives, which no number of blocks evens out (Kalibera and Jones 2013, "Rigorous benchmarking in
 * reasonable time"): of 35 comparisons of a program with itself by one pair each, one came out
 * 6 % slower. Eight pairs share the 61 blocks. Being started first also counts (0.8 % in 40
 * comparisons of a program with itself), so that each side is it in every other pair. */
#define BLOCKS_A_PAIR 8

/* What a comparison has while it runs. */
struct running {
    struct comparison *c;
    struct bench_child *children[N_SIDES];
    struct bench_facts facts[N_SIDES];
    int64_t iters[N_SIDES]; /* of a run */
    bool steady[N_SIDES];
    struct bench_samples samples[N_SIDES];
    uint64_t outputs[N_SIDES];
    double log_ratios[JUDGE_MAX_BLOCKS];
    const char *progress;
};

/* Ends the comparison with a state and the text of *why; false. */
static bool stop(struct comparison *c, enum comparison_state state, int side,
                 const struct rml_error *why, struct rml_error *err)
{
    if (why->code == RML_CANCELLED)
        return rmli_fail(err, RML_CANCELLED, NULL, -1, "interrupted");
    c->state = state;
    snprintf(c->why, sizeof c->why, "%s: %s%s%s", c->sides[side].arm, why->file,
             why->file[0] ? ": " : "", why->message);
    return false;
}

/* ---- Opening -------------------------------------------------------------------------------- */

static const char *or_none(const char *text)
{
    return text ? text : "none";
}

const char *comparison_difference(const struct bench_spec *const specs[N_SIDES],
                                  const struct bench_facts facts[N_SIDES], char values[2][80])
{
    const struct bench_spec *b = specs[SIDE_BASE], *h = specs[SIDE_HEAD];
    const struct {
        const char *field, *base, *head;
    } texts[] = {
        {"suite", b->what.suite, h->what.suite},
        {"model", or_none(b->model_sha256), or_none(h->model_sha256)},
        {"instruction set", or_none(facts[SIDE_BASE].isa), or_none(facts[SIDE_HEAD].isa)},
    };
    const struct {
        const char *field;
        int base, head;
    } numbers[] = {
        {"threads", b->what.threads, h->what.threads},
        {"work version", facts[SIDE_BASE].work_version, facts[SIDE_HEAD].work_version},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (strcmp(texts[i].base, texts[i].head) != 0) {
            snprintf(values[SIDE_BASE], 80, "%s", texts[i].base);
            snprintf(values[SIDE_HEAD], 80, "%s", texts[i].head);
            return texts[i].field;
        }
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (numbers[i].base != numbers[i].head) {
            snprintf(values[SIDE_BASE], 80, "%d", numbers[i].base);
            snprintf(values[SIDE_HEAD], 80, "%d", numbers[i].head);
            return numbers[i].field;
        }
    }
    return NULL;
}

bool comparison_base_is_missing(const struct rml_error *err)
{
    return err->code == RML_NOT_FOUND || err->code == RML_UNSUPPORTED ||
           err->code == RML_INVALID_ARGUMENT;
}

struct bench_child *comparison_start(const char *program, struct rml_error *err)
{
    struct rml_error why = RML_ERROR_INIT;
    struct bench_child *child = NULL;
    if (program && access(program, X_OK) != 0)
        rmli_fail(&why, RML_NOT_FOUND, program, -1, "no program that can be run");
    else
        child = bench_child_start(program, &why);
    if (child)
        return child;
    /* A program that ends before it says what it is, is none that measures. */
    if (program && why.code == RML_INTERNAL)
        rmli_fail(err, RML_UNSUPPORTED, program, -1,
                  "no build of rml-bench that can be compared: %s", why.message);
    else
        *err = why;
    return NULL;
}

/* For the base a lack, for the head an error. */
static enum comparison_state state_of(int side, const struct rml_error *why)
{
    return side == SIDE_BASE && comparison_base_is_missing(why) ? COMPARISON_INCOMPARABLE
                                                                : COMPARISON_FAILED;
}

static bool open_side(struct running *r, int side, struct rml_error *err)
{
    const struct comparison_side *s = &r->c->sides[side];
    struct rml_error why = RML_ERROR_INIT;
    r->children[side] = comparison_start(s->program, &why);
    if (!r->children[side])
        return stop(r->c, state_of(side, &why), side, &why, err);
    bench_child_limit(r->children[side], LIMIT_SECONDS);
    if (!bench_child_open(r->children[side], s->spec, &r->facts[side], &why))
        return stop(r->c, state_of(side, &why), side, &why, err);
    return true;
}

static bool comparable(struct running *r)
{
    struct comparison *c = r->c;
    const struct bench_spec *const specs[] = {c->sides[SIDE_BASE].spec, c->sides[SIDE_HEAD].spec};
    char values[N_SIDES][80];
    const char *field = comparison_difference(specs, r->facts, values);
    if (!field)
        return true;
    c->state = COMPARISON_INCOMPARABLE;
    snprintf(c->why, sizeof c->why, "%s differs: %s and %s", field, values[SIDE_BASE],
             values[SIDE_HEAD]);
    return false;
}

static bool same_case(const struct comparison *c)
{
    char *base = bench_spec_key(c->sides[SIDE_BASE].spec);
    char *head = bench_spec_key(c->sides[SIDE_HEAD].spec);
    bool same = base && head && strcmp(base, head) == 0;
    free(base);
    free(head);
    return same;
}

/* Iterations of a run: of the same case the same number, of different ones what takes 2 ms. */
static bool settle(struct running *r, int first, struct rml_error *err)
{
    for (int k = 0; k < N_SIDES; k++) {
        int side = k ? 1 - first : first;
        struct rml_error why = RML_ERROR_INIT;
        cli_progress("%s: warm-up of %s", r->progress, r->c->sides[side].arm);
        if (!bench_child_settle(r->children[side], &r->iters[side], &r->steady[side], &why))
            return stop(r->c, COMPARISON_FAILED, side, &why, err);
    }
    int longer = r->iters[SIDE_HEAD] > r->iters[SIDE_BASE] ? SIDE_HEAD : SIDE_BASE;
    if (same_case(r->c))
        r->iters[1 - longer] = r->iters[longer];
    return true;
}

/* ---- Blocks --------------------------------------------------------------------------------- */

/* One run, appended to the side's samples. */
static bool run_once(struct running *r, int side, int order_idx, int64_t *ns, struct rml_error *err)
{
    struct rml_error why = RML_ERROR_INIT;
    struct bench_block block;
    struct bench_samples *samples = &r->samples[side];
    int64_t start_ns = rmli_clock_ns();
    if (!bench_child_block(r->children[side], r->iters[side], &block, &why))
        return stop(r->c, COMPARISON_FAILED, side, &why, err);
    int rep = (int)samples->n_samples;
    samples->samples[samples->n_samples++] = (struct store_sample){.rep = rep,
                                                                   .order_idx = order_idx,
                                                                   .t_mono_ns = start_ns,
                                                                   .iters = r->iters[side],
                                                                   .wall_ns = block.wall_ns,
                                                                   .cpu_ns = block.cpu_ns,
                                                                   .steal_ticks = -1,
                                                                   .nvcsw = -1,
                                                                   .nivcsw = -1,
                                                                   .minflt = -1,
                                                                   .majflt = -1};
    r->outputs[side] = block.output;
    *ns = block.wall_ns;
    return true;
}

static bool run_block(struct running *r, size_t i, bool base_first, struct rml_error *err)
{
    static const int abba[] = {SIDE_BASE, SIDE_HEAD, SIDE_HEAD, SIDE_BASE};
    int64_t ns[4];
    for (int k = 0; k < 4; k++) {
        int side = base_first ? abba[k] : 1 - abba[k];
        if (!run_once(r, side, (int)(4 * i) + k, &ns[k], err))
            return false;
        if (cli_interrupted())
            return rmli_fail(err, RML_CANCELLED, NULL, -1, "interrupted");
    }
    r->log_ratios[i] = judge_log_ratio(ns, base_first) +
                       log((double)r->iters[SIDE_BASE] / (double)r->iters[SIDE_HEAD]);
    return true;
}

/* A new pair of processes, warm, with the same iterations as before. */
static bool renew(struct running *r, int first, struct rml_error *err)
{
    int64_t iters[N_SIDES] = {r->iters[SIDE_BASE], r->iters[SIDE_HEAD]};
    for (int side = 0; side < N_SIDES; side++) {
        bench_child_end(r->children[side]);
        r->children[side] = NULL;
    }
    bool ok = open_side(r, first, err) && open_side(r, 1 - first, err) && settle(r, first, err);
    memcpy(r->iters, iters, sizeof iters);
    return ok;
}

static bool run_blocks(struct running *r, double confidence, double gate, struct rmli_rng *rng,
                       struct rml_error *err)
{
    struct judgement *j = &r->c->judgement;
    *j = (struct judgement){0};
    for (size_t more; (more = judge_blocks_missing(j)) > 0;) {
        size_t n = j->n + more;
        for (size_t i = j->n; i < n; i++) {
            int first = i / BLOCKS_A_PAIR % 2 ? SIDE_HEAD : SIDE_BASE;
            if (i > 0 && i % BLOCKS_A_PAIR == 0 && !renew(r, first, err))
                return false;
            cli_progress("%s: block %zu of %zu", r->progress, i + 1, n);
            if (!run_block(r, i, judge_base_first(rng), err))
                return false;
        }
        *j = judge(r->log_ratios, n, confidence, gate);
    }
    return true;
}

/* ---- Rows ----------------------------------------------------------------------------------- */

/* What the row of another build says instead of ours. */
static bool name_engine(struct bench_row *row, struct bench_child *child, struct rml_error *err)
{
    json_t *build = bench_child_build(child, err);
    const char *version = json_string_value(json_object_get(build, "version"));
    const char *commit = json_string_value(json_object_get(build, "git_commit"));
    const json_t *dirty = json_object_get(build, "git_dirty");
    snprintf(row->engine_version, sizeof row->engine_version, "%s%s%.12s%s", version ? version : "",
             commit && commit[0] ? "+" : "", commit ? commit : "",
             json_integer_value(dirty) || json_is_true(dirty) ? "+dirty" : "");
    json_decref(build);
    return build != NULL;
}

static bool make_row(struct running *r, int side, struct rml_error *err)
{
    struct comparison *c = r->c;
    struct rml_error why = RML_ERROR_INIT;
    struct bench_row *row = c->rows[side] = bench_row_create(c->sides[side].spec, &why);
    struct bench_samples *samples = &r->samples[side];
    samples->iters_per_rep = r->iters[side];
    samples->steady = r->steady[side];
    if (!row || !name_engine(row, r->children[side], &why) ||
        !bench_child_verify(r->children[side], &why))
        return stop(c, COMPARISON_FAILED, side, &why, err);
    bench_row_set_facts(row, &r->facts[side]);
    row->result.arm = c->sides[side].arm;
    return bench_row_take_samples(row, samples, &why) ||
           stop(c, COMPARISON_FAILED, side, &why, err);
}

static bool allocate(struct running *r, struct rml_error *err)
{
    for (int side = 0; side < N_SIDES; side++) {
        r->samples[side].samples = calloc(2 * JUDGE_MAX_BLOCKS, sizeof *r->samples[side].samples);
        if (!r->samples[side].samples)
            return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for samples");
    }
    return true;
}

static bool skipped(struct comparison *c)
{
    for (int side = 0; side < N_SIDES; side++) {
        if (c->sides[side].spec->skip_reason) {
            c->state = COMPARISON_SKIPPED;
            snprintf(c->why, sizeof c->why, "%s", c->sides[side].spec->skip_reason);
            return true;
        }
    }
    return false;
}

bool comparison_try(struct comparison *c, const struct comparison_side sides[N_SIDES],
                    struct rml_error *err)
{
    *c = (struct comparison){.sides = {sides[SIDE_BASE], sides[SIDE_HEAD]}};
    struct running r = {.c = c};
    if (skipped(c))
        return true;
    bool ok = open_side(&r, SIDE_BASE, err) && open_side(&r, SIDE_HEAD, err) && comparable(&r);
    for (int side = 0; side < N_SIDES; side++)
        bench_child_end(r.children[side]);
    return ok || err->code == RML_OK;
}

bool comparison_run(struct comparison *c, const struct comparison_side sides[N_SIDES],
                    double confidence, double gate, struct rmli_rng *rng, const char *progress,
                    struct rml_error *err)
{
    *c = (struct comparison){.sides = {sides[SIDE_BASE], sides[SIDE_HEAD]}};
    struct running r = {.c = c, .progress = progress};
    if (skipped(c))
        return true;
    bool ok = allocate(&r, err) && open_side(&r, SIDE_BASE, err) && open_side(&r, SIDE_HEAD, err) &&
              comparable(&r) && settle(&r, SIDE_BASE, err) &&
              run_blocks(&r, confidence, gate, rng, err) && make_row(&r, SIDE_BASE, err) &&
              make_row(&r, SIDE_HEAD, err);
    c->outputs_differ = ok && r.outputs[SIDE_BASE] != r.outputs[SIDE_HEAD] && same_case(c);
    for (int side = 0; side < N_SIDES; side++) {
        bench_child_end(r.children[side]);
        bench_samples_release(&r.samples[side]);
    }
    return ok || err->code == RML_OK;
}

void comparison_release(struct comparison *c)
{
    for (int side = 0; side < N_SIDES; side++)
        bench_row_destroy(c->rows[side]);
    *c = (struct comparison){0};
}
