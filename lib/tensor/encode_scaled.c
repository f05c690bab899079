/*
 * Q3_K, Q6_K, IQ4_NL and IQ4_XS: x ~ d * sc * level, without an offset.
 *
 * A block has groups of 16 or 32 elements with an integer sc each, and one f16 d. Levels are
 * the integers from -n to n - 1, or the sixteen numbers of the codebook. Sought is the least
 * sum of squared errors E, in three steps.
 *
 * 1. Each group alone, with a real scale s. For given levels l,
 *        E(s) = sum x^2 - 2 s sum xl + s^2 sum l^2,
 *    least at s* = sum xl / sum l^2, where it is sum x^2 - (sum xl)^2 / sum l^2. Levels are
 *    the nearest to x / s for each of a row of trial scales around the one that puts the
 *    largest magnitude on the outermost level, on either side; the s* with the least E is then
 *    used as a trial scale itself until nothing changes.
 * 2. d: near s*, the error of a group grows by (s - s*)^2 sum l^2. With sc = s* / d rounded,
 *    that tells of many trial values of d which is best without looking at an element.
 * 3. All elements again: levels for the scale that is stored, the scales next to it, and the d
 *    that is best for those levels; as long as E falls.
 */
#include "tensor/encode_private.h"

enum { MAX_GROUPS = 16, MAX_NELEMS = 256 };

struct scaled_type {
    int n_groups, group_nelems;
    float sc_min, sc_max; /* equal when there is no sc: d is the scale */
    float low, high;      /* outermost levels */
    bool codebook;
    /* Trial scales put the largest magnitude on the outermost level plus i * step, i in
     * [-n_steps, n_steps]. */
    float step;
    int n_steps;
};

static const struct scaled_type q3_k = {16, 16, -32, 31, -4, 3, false, 0.2f, 5};
static const struct scaled_type q6_k = {16, 16, -128, 127, -32, 31, false, 0.2f, 5};
static const struct scaled_type iq4_nl = {1, 32, 1, 1, -127, 113, true, 3, 7};
static const struct scaled_type iq4_xs = {8, 32, -32, 31, -127, 113, true, 3, 7};

/* ---- Levels ------------------------------------------------------------------ */

static const int8_t codebook[16] = {RMLI_IQ4_CODEBOOK};

/*
 * The entry nearest to v in [-127, 113]. Midpoints between entries are multiples of one half,
 * so all of [k / 2, (k + 1) / 2) has the same: this table, by floor(2 v) + 254, holds its index.
 * The runs begin at 254 + codebook[i - 1] + codebook[i].
 */
static const uint8_t nearest[481] = {
    [0 ... 22] = 0,     [23 ... 66] = 1,    [67 ... 105] = 2,   [106 ... 139] = 3,
    [140 ... 169] = 4,  [170 ... 196] = 5,  [197 ... 221] = 6,  [222 ... 244] = 7,
    [245 ... 267] = 8,  [268 ... 291] = 9,  [292 ... 316] = 10, [317 ... 344] = 11,
    [345 ... 375] = 12, [376 ... 411] = 13, [412 ... 455] = 14, [456 ... 480] = 15,
};
static uint8_t nearest_entry(float v)
{
    return nearest[(int)(2 * rmli_clamp(v, -127, 113) + 254)];
}

static void find_levels(const struct scaled_type *type, const float *x, int n, float inverse,
                        float *levels)
{
    if (type->codebook) {
        for (int i = 0; i < n; i++)
            levels[i] = codebook[nearest_entry(x[i] * inverse)];
        return;
    }
    for (int i = 0; i < n; i++)
        levels[i] = rmli_round(rmli_clamp(x[i] * inverse, type->low, type->high));
}

struct moments {
    float xl, ll; /* sums of x * level and level^2 */
};

static struct moments moments_of(const float *x, const float *levels, int n)
{
    rmli_lanes xl = {0}, ll = {0};
    for (int i = 0; i < n; i += RMLI_N_LANES) {
        rmli_lanes level = rmli_load_lanes(levels + i);
        xl += rmli_load_lanes(x + i) * level;
        ll += level * level;
    }
    return (struct moments){rmli_add_lanes(xl), rmli_add_lanes(ll)};
}

/* ---- One group ----------------------------------------------------------------- */

struct group {
    float scale; /* s*, 0 for a group of zeros */
    float ll;
};

/* Tries a scale; true, with the group's best moments updated, when E is less than before. */
static bool try_scale(const struct scaled_type *type, const float *x, float inverse,
                      struct moments *best)
{
    float levels[MAX_NELEMS];
    find_levels(type, x, type->group_nelems, inverse, levels);
    struct moments m = moments_of(x, levels, type->group_nelems);
    /* (sum xl)^2 / sum l^2 is what E falls by */
    if (m.ll == 0 || m.xl * m.xl * best->ll <= best->xl * best->xl * m.ll)
        return false;
    *best = m;
    return true;
}

static struct group fit_group(const struct scaled_type *type, const float *x)
{
    float extreme = 0;
    for (int i = 0; i < type->group_nelems; i++)
        if (fabsf(x[i]) > fabsf(extreme))
            extreme = x[i];
    if (fabsf(extreme) < RMLI_ENCODE_ZERO)
        return (struct group){0};
    struct moments best = {0, 1};
    for (int i = -type->n_steps; i <= type->n_steps; i++) {
        try_scale(type, x, (type->low + (float)i * type->step) / extreme, &best);
        try_scale(type, x, (type->high + (float)i * type->step) / extreme, &best);
    }
    while (best.xl != 0 && try_scale(type, x, best.ll / best.xl, &best))
        ;
    return (struct group){best.xl / best.ll, best.ll};
}

/* ---- All groups ------------------------------------------------------------------ */

struct solution {
    float d; /* as f16 has it */
    float sc[MAX_GROUPS];
    float levels[MAX_NELEMS];
    double error;
};

static float round_sc(const struct scaled_type *type, float sc)
{
    return rmli_round(rmli_clamp(sc, type->sc_min, type->sc_max));
}

/* How much the error grows when the scales s* have to be multiples of d. */
static float growth(const struct scaled_type *type, const struct group *groups, float d)
{
    float sum = 0;
    for (int g = 0; g < type->n_groups; g++) {
        float off = groups[g].scale - d * round_sc(type, groups[g].scale / d);
        sum += off * off * groups[g].ll;
    }
    return sum;
}

/* The f16 that serves all groups best, of those that put the largest scale on one of the last
 * few integers. */
static float choose_d(const struct scaled_type *type, const struct group *groups)
{
    float extreme = 0;
    for (int g = 0; g < type->n_groups; g++)
        if (fabsf(groups[g].scale) > fabsf(extreme))
            extreme = groups[g].scale;
    float best = 0, least = INFINITY;
    for (int side = 0; side < 2; side++) {
        float last = side ? type->sc_max : type->sc_min;
        for (float sc = last; fabsf(sc) > 0.6f * fabsf(last); sc += last < 0 ? 0.5f : -0.5f) {
            float d = rmli_as_f16(rmli_clamp(extreme / sc, -RMLI_F16_MAX, RMLI_F16_MAX));
            if (d == 0)
                d = RMLI_F16_STEP;
            float sum = growth(type, groups, d);
            if (sum < least) {
                least = sum;
                best = d;
            }
        }
    }
    return best;
}

static float squared_error(const float *x, const float *levels, int n, float scale)
{
    rmli_lanes sum = {0};
    for (int i = 0; i < n; i += RMLI_N_LANES) {
        rmli_lanes off = rmli_load_lanes(x + i) - scale * rmli_load_lanes(levels + i);
        sum += off * off;
    }
    return rmli_add_lanes(sum);
}

/* The levels of a group for the best sc among `sc` and its neighbours; returns the error. */
static float settle_group(const struct scaled_type *type, const float *x, float d, float *sc,
                          float *levels)
{
    int n = type->group_nelems;
    float least = INFINITY, middle = *sc;
    for (int step = -1; step <= 1; step++) {
        float trial = middle + (float)step;
        if (!(trial >= type->sc_min && trial <= type->sc_max))
            continue;
        float found[MAX_NELEMS], scale = d * trial;
        find_levels(type, x, n, scale != 0 ? 1 / scale : 0, found);
        float error = squared_error(x, found, n, scale);
        if (error < least) {
            least = error;
            *sc = trial;
            memcpy(levels, found, (size_t)n * sizeof *found);
        }
    }
    return least;
}

static void settle(const struct scaled_type *type, const float *x, const struct group *groups,
                   struct solution *s)
{
    s->error = 0;
    for (int g = 0; g < type->n_groups; g++) {
        int at = g * type->group_nelems;
        s->sc[g] = round_sc(type, groups[g].scale / s->d);
        s->error += settle_group(type, x + at, s->d, &s->sc[g], s->levels + at);
    }
}

/* The d with the least error for levels and sc as they are: s* of all groups together. */
static float best_d(const struct scaled_type *type, const float *x, const struct solution *s)
{
    double xl = 0, ll = 0;
    for (int g = 0; g < type->n_groups; g++) {
        int at = g * type->group_nelems;
        struct moments m = moments_of(x + at, s->levels + at, type->group_nelems);
        xl += (double)s->sc[g] * m.xl;
        ll += (double)s->sc[g] * s->sc[g] * m.ll;
    }
    return ll > 0 ? rmli_as_f16((float)(xl / ll)) : 0;
}

static bool solve(const struct scaled_type *type, const float *x, struct solution *best)
{
    int n = type->n_groups * type->group_nelems;
    memset(best, 0, sizeof *best);
    float magnitude = rmli_max_magnitude(x, n);
    if (magnitude > RMLI_F16_MAX * -type->low * fabsf(type->sc_min) / 2)
        return false;
    struct group groups[MAX_GROUPS];
    for (int g = 0; g < type->n_groups; g++)
        groups[g] = fit_group(type, x + g * type->group_nelems);
    if (magnitude < RMLI_ENCODE_ZERO)
        return true;
    struct solution s = {.d = choose_d(type, groups)};
    settle(type, x, groups, &s);
    *best = s;
    for (int round = 0; round < 3; round++) {
        s.d = best_d(type, x, &s);
        if (s.d == 0 || s.d == best->d)
            break;
        settle(type, x, groups, &s);
        if (s.error >= best->error)
            break;
        *best = s;
    }
    return true;
}

/* ---- Packing ---------------------------------------------------------------------- */

bool rmli_encode_q3_k(struct rmli_block_q3_k *block, const float *x)
{
    struct solution s;
    if (!solve(&q3_k, x, &s))
        return false;
    *block = (struct rmli_block_q3_k){.d = rmli_f16_from_f32(s.d)};
    for (int k = 0; k < 256; k++) {
        int q = (int)s.levels[k] + 4, half = k / 128, quarter = k % 128 / 32;
        block->qs[32 * half + k % 32] |= (uint8_t)((q & 3) << 2 * quarter);
        block->hmask[k % 32] |= (uint8_t)((q >> 2) << k / 32);
    }
    for (int i = 0; i < 16; i++) {
        int sc = (int)s.sc[i] + 32;
        block->scales[i % 8] |= (uint8_t)((sc & 15) << 4 * (i / 8));
        block->scales[8 + i % 4] |= (uint8_t)((sc >> 4) << 2 * (i / 4));
    }
    return true;
}

bool rmli_encode_q6_k(struct rmli_block_q6_k *block, const float *x)
{
    struct solution s;
    if (!solve(&q6_k, x, &s))
        return false;
    *block = (struct rmli_block_q6_k){.d = rmli_f16_from_f32(s.d)};
    for (int k = 0; k < 256; k++) {
        int q = (int)s.levels[k] + 32, half = k / 128, quarter = k % 128 / 32, l = k % 32;
        block->ql[64 * half + 32 * (quarter % 2) + l] |= (uint8_t)((q & 15) << 4 * (quarter / 2));
        block->qh[32 * half + l] |= (uint8_t)((q >> 4) << 2 * quarter);
    }
    for (int i = 0; i < 16; i++)
        block->scales[i] = (int8_t)s.sc[i];
    return true;
}

/* Nibbles of n elements in runs of 32: element j low, element j + 16 high. */
static void pack_entries(uint8_t *qs, const float *levels, int n)
{
    for (int k = 0; k < n; k++)
        qs[16 * (k / 32) + k % 16] |= (uint8_t)(nearest_entry(levels[k]) << 4 * (k / 16 % 2));
}

bool rmli_encode_iq4_nl(struct rmli_block_iq4_nl *block, const float *x)
{
    struct solution s;
    if (!solve(&iq4_nl, x, &s))
        return false;
    *block = (struct rmli_block_iq4_nl){.d = rmli_f16_from_f32(s.d)};
    pack_entries(block->qs, s.levels, 32);
    return true;
}

bool rmli_encode_iq4_xs(struct rmli_block_iq4_xs *block, const float *x)
{
    struct solution s;
    if (!solve(&iq4_xs, x, &s))
        return false;
    *block = (struct rmli_block_iq4_xs){.d = rmli_f16_from_f32(s.d)};
    for (int i = 0; i < 8; i++) {
        int sc = (int)s.sc[i] + 32;
        block->scales_l[i / 2] |= (uint8_t)((sc & 15) << 4 * (i % 2));
        block->scales_h |= (uint16_t)((sc >> 4) << 2 * i);
    }
    pack_entries(block->qs, s.levels, 256);
    return true;
}
