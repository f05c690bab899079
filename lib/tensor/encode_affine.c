/*
 * Q2_K, Q4_K and Q5_K: x ~ d * sc * q - dmin * m, with an offset.
 *
 * A block has groups of 16 or 32 elements with two small integers each, sc and m, and one f16
 * each of d and dmin; q is an integer from 0 to q_max. Sought is the least sum of squared
 * errors E, in three steps.
 *
 * 1. Each group alone, with real numbers s and o in place of d * sc and dmin * m:
 *        E(s, o) = sum (x - s q + o)^2
 *    is least, for given q, at the solution of two linear equations (o = 0 when that would be
 *    negative). The q are the nearest to (x + o) / s for each of a row of trial scales around
 *    the one that spreads the range of x over all q; the best pair is then used as a trial
 *    itself until nothing changes.
 * 2. d and dmin: near the best (s, o), E of a group grows by
 *        ds^2 sum q^2 - 2 ds do sum q + n do^2,
 *    which tells of many pairs (d, dmin) which is best without looking at an element. sc is
 *    s / d rounded, down or up; m is what suits that sc best.
 * 3. All elements again: q for the sc and m that are stored, sc one less and one more, then the d
 *    and dmin that are best for these; as long as E falls.
 */
#include "tensor/encode_private.h"

enum { MAX_GROUPS = 16, MAX_NELEMS = 256 };

struct affine_type {
    int n_groups, group_nelems;
    float sc_max; /* of sc and of m */
    float q_max;
    /* Trial scales spread the range over q_max + i * step, i in [first_step, last_step]. */
    float step;
    int first_step, last_step;
    int m_reach; /* how far from the expected m the best may be */
};

static const struct affine_type q2_k = {16, 16, 15, 3, 0.1f, -8, 14, 1};
static const struct affine_type q4_k = {8, 32, 63, 15, 0.2f, -5, 8, 0};
static const struct affine_type q5_k = {8, 32, 63, 31, 0.2f, -5, 8, 0};

/* ---- One group ------------------------------------------------------------------- */

struct moments {
    float q, qq, xq; /* sums over a group */
};

struct group {
    float scale, offset; /* s and o; s is 0 for a group of one value */
    struct moments moments;
};

static void find_q(const struct affine_type *type, const float *x, float inverse, float offset,
                   float *q)
{
    for (int i = 0; i < type->group_nelems; i++)
        q[i] = rmli_round(rmli_clamp((x[i] + offset) * inverse, 0, type->q_max));
}

static struct moments moments_of(const float *x, const float *q, int n)
{
    rmli_lanes sum = {0}, qq = {0}, xq = {0};
    for (int i = 0; i < n; i += RMLI_N_LANES) {
        rmli_lanes lane = rmli_load_lanes(q + i);
        sum += lane;
        qq += lane * lane;
        xq += rmli_load_lanes(x + i) * lane;
    }
    return (struct moments){rmli_add_lanes(sum), rmli_add_lanes(qq), rmli_add_lanes(xq)};
}

static float sum_of(const float *x, int n)
{
    rmli_lanes sum = {0};
    for (int i = 0; i < n; i += RMLI_N_LANES)
        sum += rmli_load_lanes(x + i);
    return rmli_add_lanes(sum);
}

/* E without the constant sum x^2. */
static double relative_error(const struct moments *m, double sum_x, int n, double s, double o)
{
    return s * (s * m->qq - 2 * (double)m->xq) + o * (2 * sum_x + n * o - 2 * s * m->q);
}

/* The best s and o for given q; false when all q are 0. */
static bool solve_pair(const struct moments *m, double sum_x, int n, double *s, double *o)
{
    double determinant = n * (double)m->qq - (double)m->q * m->q;
    if (determinant > 0) {
        *s = (n * (double)m->xq - sum_x * m->q) / determinant;
        *o = (*s * m->q - sum_x) / n;
        if (*o >= 0)
            return *s > 0;
    }
    *o = 0;
    *s = m->qq > 0 ? m->xq / (double)m->qq : 0;
    return *s > 0;
}

struct search {
    const struct affine_type *type;
    const float *x;
    double sum_x, least;
    struct group best;
};

static bool try_pair(struct search *search, float inverse, float offset)
{
    float q[MAX_NELEMS];
    int n = search->type->group_nelems;
    find_q(search->type, search->x, inverse, offset, q);
    struct moments m = moments_of(search->x, q, n);
    double s, o;
    if (!solve_pair(&m, search->sum_x, n, &s, &o))
        return false;
    double error = relative_error(&m, search->sum_x, n, s, o);
    if (error >= search->least)
        return false;
    search->least = error;
    search->best = (struct group){(float)s, (float)o, m};
    return true;
}

static struct group fit_group(const struct affine_type *type, const float *x)
{
    int n = type->group_nelems;
    float min = 0, max = x[0];
    for (int i = 0; i < n; i++) {
        min = x[i] < min ? x[i] : min;
        max = x[i] > max ? x[i] : max;
    }
    struct search search = {.type = type, .x = x, .sum_x = sum_of(x, n)};
    /* What q = 0 everywhere gives: the mean, when it is not positive. */
    double mean = search.sum_x / n;
    search.best.offset = mean < 0 ? (float)-mean : 0;
    search.least = mean < 0 ? -n * mean * mean : 0;
    if (max - min < RMLI_ENCODE_ZERO)
        return search.best;
    for (int i = type->first_step; i <= type->last_step; i++) {
        float spread = type->q_max + (float)i * type->step, inverse = spread / (max - min);
        float beyond = spread - type->q_max;
        try_pair(&search, inverse, -min);
        if (beyond > 0) /* cut off at both ends alike */
            try_pair(&search, inverse, -min - beyond / 2 / inverse);
    }
    while (search.best.scale > 0 && try_pair(&search, 1 / search.best.scale, search.best.offset))
        ;
    return search.best;
}

/* ---- All groups ------------------------------------------------------------------- */

struct solution {
    float d, dmin; /* as f16 has them */
    float sc[MAX_GROUPS], m[MAX_GROUPS];
    float q[MAX_NELEMS];
    double error;
};

static float round_to(float x, float max)
{
    return rmli_round(rmli_clamp(x, 0, max));
}

/* m that suits an error ds of the scale best; dmin 0 means that there is none. */
static float round_m(const struct affine_type *type, const struct group *g, float ds, float dmin)
{
    if (dmin == 0)
        return 0;
    return round_to((g->offset + ds * g->moments.q / (float)type->group_nelems) / dmin,
                    type->sc_max);
}

/* How much E of a group grows with sc and the m that goes with it. */
static float growth_with(const struct affine_type *type, const struct group *g, float d, float dmin,
                         float sc)
{
    float ds = d * sc - g->scale;
    float off = dmin * round_m(type, g, ds, dmin) - g->offset;
    return ds * (ds * g->moments.qq - 2 * off * g->moments.q) +
           (float)type->group_nelems * off * off;
}

static float growth(const struct affine_type *type, const struct group *groups, float d, float dmin)
{
    float sum = 0;
    for (int i = 0; i < type->n_groups; i++) {
        const struct group *g = &groups[i];
        float sc = (float)(int)rmli_clamp(g->scale / d, 0, type->sc_max);
        float below = growth_with(type, g, d, dmin, sc);
        float above = sc < type->sc_max ? growth_with(type, g, d, dmin, sc + 1) : below;
        sum += above < below ? above : below;
    }
    return sum;
}

enum { N_TRIALS = 8 };

/* f16 numbers that put `largest` on one of the last few integers, or beyond. Returns how many. */
static int trial_steps(float largest, float sc_max, float *trials)
{
    int n = 0;
    for (int i = 0; i < N_TRIALS; i++) {
        float at = sc_max * (1.1f - 0.05f * (float)i);
        float d = rmli_as_f16(rmli_clamp(largest / at, RMLI_F16_STEP, RMLI_F16_MAX));
        if (n == 0 || d != trials[n - 1])
            trials[n++] = d;
    }
    return n;
}

static void choose_steps(const struct affine_type *type, const struct group *groups,
                         struct solution *s)
{
    float scale = 0, offset = 0, d[N_TRIALS], dmin[N_TRIALS], least = INFINITY;
    for (int i = 0; i < type->n_groups; i++) {
        scale = groups[i].scale > scale ? groups[i].scale : scale;
        offset = groups[i].offset > offset ? groups[i].offset : offset;
    }
    int n_d = trial_steps(scale, type->sc_max, d), n_dmin = 1;
    dmin[0] = 0;
    if (offset >= RMLI_ENCODE_ZERO)
        n_dmin = trial_steps(offset, type->sc_max, dmin);
    for (int i = 0; i < n_d; i++)
        for (int k = 0; k < n_dmin; k++) {
            float sum = growth(type, groups, d[i], dmin[k]);
            if (sum < least) {
                least = sum;
                s->d = d[i];
                s->dmin = dmin[k];
            }
        }
}

static float squared_error(const float *x, const float *q, int n, float scale, float offset)
{
    rmli_lanes sum = {0};
    for (int i = 0; i < n; i += RMLI_N_LANES) {
        rmli_lanes off = rmli_load_lanes(x + i) - (scale * rmli_load_lanes(q + i) - offset);
        sum += off * off;
    }
    return rmli_add_lanes(sum);
}

/* sc, m and q of group i for d and dmin as they are; returns the error. */
static float settle_group(const struct affine_type *type, const float *x, const struct group *g,
                          struct solution *s, int i)
{
    int n = type->group_nelems;
    float least = INFINITY, middle = round_to(g->scale / s->d, type->sc_max);
    for (int step = -1; step <= 1; step++) {
        float sc = middle + (float)step;
        if (!(sc >= 0 && sc <= type->sc_max))
            continue;
        float scale = s->d * sc, nearest = round_m(type, g, scale - g->scale, s->dmin);
        for (int m_step = -type->m_reach; m_step <= type->m_reach; m_step++) {
            float m = nearest + (float)m_step;
            if (!(m >= 0 && m <= type->sc_max) || (s->dmin == 0 && m > 0))
                continue;
            float q[MAX_NELEMS], offset = s->dmin * m;
            find_q(type, x, scale > 0 ? 1 / scale : 0, offset, q);
            float error = squared_error(x, q, n, scale, offset);
            if (error < least) {
                least = error;
                s->sc[i] = sc;
                s->m[i] = m;
                memcpy(s->q + i * n, q, (size_t)n * sizeof *q);
            }
        }
    }
    return least;
}

static void settle(const struct affine_type *type, const float *x, const struct group *groups,
                   struct solution *s)
{
    s->error = 0;
    for (int i = 0; i < type->n_groups; i++)
        s->error += settle_group(type, x + i * type->group_nelems, &groups[i], s, i);
}

/*
 * d and dmin with the least E for sc, m and q as they are. With a = sc q and b = m:
 *     d sum a^2 - dmin sum ab = sum xa,    d sum ab - dmin sum b^2 = sum xb
 * False when they are no better defined than before.
 */
static bool improve_steps(const struct affine_type *type, const float *x, struct solution *s)
{
    double aa = 0, ab = 0, bb = 0, xa = 0, xb = 0;
    int n = type->group_nelems;
    for (int i = 0; i < type->n_groups; i++) {
        struct moments m = moments_of(x + i * n, s->q + i * n, n);
        double sc = s->sc[i], b = s->m[i];
        aa += sc * sc * m.qq;
        ab += sc * b * m.q;
        bb += n * b * b;
        xa += sc * m.xq;
        xb += b * sum_of(x + i * n, n);
    }
    double determinant = aa * bb - ab * ab, d, dmin = 0;
    if (s->dmin > 0 && determinant > 0) {
        d = (xa * bb - xb * ab) / determinant;
        dmin = (xa * ab - xb * aa) / determinant;
    } else {
        d = aa > 0 ? xa / aa : 0;
    }
    float new_d = rmli_as_f16((float)d), new_dmin = rmli_as_f16((float)dmin);
    bool changed = new_d != s->d || new_dmin != s->dmin;
    s->d = new_d;
    s->dmin = new_dmin;
    return changed && new_d > 0 && new_d <= RMLI_F16_MAX && new_dmin >= 0 &&
           new_dmin <= RMLI_F16_MAX;
}

static bool solve(const struct affine_type *type, const float *x, struct solution *best)
{
    int n = type->n_groups * type->group_nelems;
    memset(best, 0, sizeof *best);
    float magnitude = rmli_max_magnitude(x, n);
    if (magnitude > RMLI_F16_MAX * type->sc_max / 2)
        return false;
    if (magnitude < RMLI_ENCODE_ZERO)
        return true;
    struct group groups[MAX_GROUPS];
    for (int i = 0; i < type->n_groups; i++)
        groups[i] = fit_group(type, x + i * type->group_nelems);
    struct solution s = {0};
    choose_steps(type, groups, &s);
    settle(type, x, groups, &s);
    *best = s;
    for (int round = 0; round < 3 && improve_steps(type, x, &s); round++) {
        settle(type, x, groups, &s);
        if (s.error >= best->error)
            break;
        *best = s;
    }
    return true;
}

/* ---- Packing ------------------------------------------------------------------------ */

bool rmli_encode_q2_k(struct rmli_block_q2_k *block, const float *x)
{
    struct solution s;
    if (!solve(&q2_k, x, &s))
        return false;
    *block =
        (struct rmli_block_q2_k){.d = rmli_f16_from_f32(s.d), .dmin = rmli_f16_from_f32(s.dmin)};
    for (int k = 0; k < 256; k++)
        block->qs[32 * (k / 128) + k % 32] |= (uint8_t)((int)s.q[k] << 2 * (k % 128 / 32));
    for (int i = 0; i < 16; i++)
        block->scales[i] = (uint8_t)((int)s.sc[i] | (int)s.m[i] << 4);
    return true;
}

/* Eight sc and eight m of six bits in twelve bytes (blocks.h). */
static void pack_scales(uint8_t *scales, const struct solution *s)
{
    for (int i = 0; i < 4; i++) {
        int sc = (int)s->sc[i], m = (int)s->m[i], sc4 = (int)s->sc[i + 4], m4 = (int)s->m[i + 4];
        scales[i] = (uint8_t)(sc | (sc4 >> 4) << 6);
        scales[4 + i] = (uint8_t)(m | (m4 >> 4) << 6);
        scales[8 + i] = (uint8_t)((sc4 & 15) | (m4 & 15) << 4);
    }
}

bool rmli_encode_q4_k(struct rmli_block_q4_k *block, const float *x)
{
    struct solution s;
    if (!solve(&q4_k, x, &s))
        return false;
    *block =
        (struct rmli_block_q4_k){.d = rmli_f16_from_f32(s.d), .dmin = rmli_f16_from_f32(s.dmin)};
    pack_scales(block->scales, &s);
    for (int k = 0; k < 256; k++)
        block->qs[32 * (k / 64) + k % 32] |= (uint8_t)((int)s.q[k] << 4 * (k / 32 % 2));
    return true;
}

bool rmli_encode_q5_k(struct rmli_block_q5_k *block, const float *x)
{
    struct solution s;
    if (!solve(&q5_k, x, &s))
        return false;
    *block =
        (struct rmli_block_q5_k){.d = rmli_f16_from_f32(s.d), .dmin = rmli_f16_from_f32(s.dmin)};
    pack_scales(block->scales, &s);
    for (int k = 0; k < 256; k++) {
        int q = (int)s.q[k];
        block->qs[32 * (k / 64) + k % 32] |= (uint8_t)((q & 15) << 4 * (k / 32 % 2));
        block->qh[k % 32] |= (uint8_t)((q >> 4) << k / 32);
    }
    return true;
}
