/*
 * The driver of the attention kernels.
 *
 * A tile is a few consecutive rows of one sequence; a unit of work is a tile
 * and a kv head, that is every query head of that group for every row of the
 * tile. A unit walks over the blocks that any of its rows sees and gives each
 * block to the kernels with just the rows that see some of it.
 *
 * When there are too few units to keep all threads busy, blocks become the
 * tasks: each is reduced into slots of its own, and a second loop merges the
 * slots of every row in the order of blocks, as a unit alone would have done.
 * The number of slots is limited, so this goes in waves over the context.
 *
 * The running output of a row is the caller's `out` itself.
 */
#include "model/attention.h"

#include <string.h>

#include "base/memory.h"

enum {
    BLOCK = RMLI_ATTENTION_BLOCK,
    /* Head rows of a tile at most, and their elements: 32 KB each of queries, block
     * output and running output, which a second-level cache of 256 KB holds beside
     * a block of keys and values. */
    TILE_HEAD_ROWS = 64,
    TILE_NELEMS = 8192,
    /* From this many units per thread on, claiming them one by one balances well
     * enough; with fewer, blocks are split where a unit has at least this many. */
    ENOUGH_UNITS_PER_THREAD = 4,
    MIN_BLOCKS_TO_SPLIT = 4,
    SPLIT_TASKS_PER_THREAD = 8,
    SLOTS_NBYTES = 16 << 20 /* at most */
};

/* Reductions (maximum, sum, output): one entry per head row. */
struct reduced {
    float *max;
    float *sum;
    float *out; /* [][head_dim] */
};

/* One worker's memory; every array is for one tile. */
struct scratch {
    const float **q;
    uint8_t *first, *last;
    float *weights;       /* [][BLOCK] */
    struct reduced block; /* of one block */
    float *max, *sum;     /* running state of a unit; its output is the caller's */
};

/* Rows [first_row, first_row + n_rows) of the batch, all of one sequence, and the
 * blocks that any of them sees. */
struct tile {
    size_t first_row, n_rows;
    size_t first_block, end_block;
};

struct rmli_attention {
    uint32_t n_head, n_head_kv, head_dim;
    size_t group;     /* query heads per kv head */
    size_t tile_rows; /* rows of the batch in a tile, at most */
    unsigned n_workers;
    struct scratch *scratch; /* [n_workers] */
    struct tile *tiles;      /* [max_rows] */
    uint32_t *tile_of_row;   /* [max_rows] */
    struct reduced slots;    /* [n_slots] */
    size_t n_slots;
    float *split_max, *split_sum; /* [n_slots]: running state between waves */
    void *memory;                 /* that all of these lie in */
};

/* What one call works on. */
struct call {
    struct rmli_attention *attention;
    const struct rmli_attention_kernels *kernels;
    const struct rmli_attention_params *params;
    const struct rmli_row *rows;
    const float *q;
    float *out;
    size_t n_rows, n_tiles;
    /* When split: blocks counted from the tile's first. */
    size_t longest; /* blocks of the longest tile */
    size_t wave_first, wave_n_blocks;
    size_t task_n_blocks, n_tasks_per_unit;
};

/* ---- Memory --------------------------------------------------------------- */

/* A place for n elements at *used, which moves on; false on overflow. With
 * base NULL this only counts. */
static bool carve(void *out, uint8_t *base, size_t *used, size_t n, size_t elem_nbytes)
{
    size_t nbytes, end;
    if (!rmli_size_mul(n, elem_nbytes, &nbytes) || !rmli_size_add(*used, nbytes, &end) ||
        !rmli_size_add(end, RMLI_ALIGNMENT - 1, &end))
        return false;
    if (base) {
        void *place = base + *used;
        memcpy(out, &place, sizeof place); /* out points to a pointer of any type */
    }
    *used = end / RMLI_ALIGNMENT * RMLI_ALIGNMENT;
    return true;
}

static bool carve_reduced(struct reduced *r, uint8_t *base, size_t *used, size_t n, size_t head_dim)
{
    size_t nelems;
    return carve(&r->max, base, used, n, sizeof(float)) &&
           carve(&r->sum, base, used, n, sizeof(float)) && rmli_size_mul(n, head_dim, &nelems) &&
           carve(&r->out, base, used, nelems, sizeof(float));
}

/* Assigns every array a place in base, or with NULL counts the bytes. */
static bool lay_out(struct rmli_attention *a, uint8_t *base, size_t *used, size_t max_rows)
{
    size_t n = a->tile_rows * a->group;
    *used = 0;
    bool ok = carve(&a->scratch, base, used, a->n_workers, sizeof *a->scratch) &&
              carve(&a->tiles, base, used, max_rows, sizeof *a->tiles) &&
              carve(&a->tile_of_row, base, used, max_rows, sizeof *a->tile_of_row) &&
              carve_reduced(&a->slots, base, used, a->n_slots, a->head_dim) &&
              carve(&a->split_max, base, used, a->n_slots, sizeof(float)) &&
              carve(&a->split_sum, base, used, a->n_slots, sizeof(float));
    for (unsigned w = 0; w < a->n_workers && ok; w++) {
        struct scratch none, *s = base ? &a->scratch[w] : &none;
        ok = carve(&s->q, base, used, n, sizeof *s->q) && carve(&s->first, base, used, n, 1) &&
             carve(&s->last, base, used, n, 1) &&
             carve(&s->weights, base, used, n * BLOCK, sizeof(float)) &&
             carve_reduced(&s->block, base, used, n, a->head_dim) &&
             carve(&s->max, base, used, n, sizeof(float)) &&
             carve(&s->sum, base, used, n, sizeof(float));
    }
    return ok;
}

/* As many slots as one wave over the longest context of the largest batch can
 * use, within SLOTS_NBYTES; none for a pool that never splits. */
static size_t slot_count(const struct rmli_attention *a, size_t max_rows, size_t max_context)
{
    if (a->n_workers == 1)
        return 0;
    size_t limit = SLOTS_NBYTES / ((a->head_dim + 4) * sizeof(float));
    size_t n_blocks = max_context / BLOCK + 1, n;
    if (!rmli_size_mul(max_rows, a->n_head, &n) || !rmli_size_mul(n, n_blocks, &n))
        return limit;
    return n < limit ? n : limit;
}

struct rmli_attention *rmli_attention_create(const struct rml_thread_pool *pool, uint32_t n_head,
                                             uint32_t n_head_kv, uint32_t head_dim, size_t max_rows,
                                             size_t max_context, struct rml_error *err)
{
    if (n_head_kv == 0 || n_head == 0 || n_head % n_head_kv != 0 ||
        n_head / n_head_kv > RMLI_MAX_HEAD_GROUP || head_dim == 0 || head_dim % 2 != 0 ||
        head_dim > RMLI_MAX_HEAD_DIM || max_rows == 0 || max_rows > UINT32_MAX) {
        rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                  "cannot attend with %u heads over %u kv heads of %u in %zu rows", n_head,
                  n_head_kv, head_dim, max_rows);
        return NULL;
    }
    struct rmli_attention *a = rmli_alloc_zeroed(1, sizeof *a, err);
    if (!a)
        return NULL;
    a->n_head = n_head;
    a->n_head_kv = n_head_kv;
    a->head_dim = head_dim;
    a->group = n_head / n_head_kv;
    size_t head_rows = TILE_NELEMS / head_dim;
    if (head_rows > TILE_HEAD_ROWS)
        head_rows = TILE_HEAD_ROWS;
    a->tile_rows = head_rows > a->group ? head_rows / a->group : 1;
    a->n_workers = rml_thread_pool_size(pool);
    a->n_slots = slot_count(a, max_rows, max_context);

    size_t nbytes;
    if (!lay_out(a, NULL, &nbytes, max_rows)) {
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "attention over %zu rows does not fit an address",
                  max_rows);
        rmli_attention_destroy(a);
        return NULL;
    }
    a->memory = rmli_alloc(nbytes, 1, err);
    if (!a->memory) {
        rmli_attention_destroy(a);
        return NULL;
    }
    lay_out(a, a->memory, &nbytes, max_rows);
    return a;
}

void rmli_attention_destroy(struct rmli_attention *attention)
{
    if (!attention)
        return;
    rmli_free(attention->memory);
    rmli_free(attention);
}

/* ---- What a row sees -------------------------------------------------------- */

static size_t first_key(size_t position, size_t window)
{
    return window > 0 && position >= window ? position - window + 1 : 0;
}

/* Rows of the tile, counted from its first. */
struct row_range {
    size_t first, n;
};

/*
 * Enters the rows of the tile that see some of the block into t: q, first, last
 * and n_rows, head rows in the order (row, head of the group). Positions ascend,
 * so these rows are adjacent.
 */
static struct row_range select_rows(const struct call *c, const struct tile *tile, size_t kv_head,
                                    size_t block, struct scratch *s, struct rmli_attention_tile *t)
{
    const struct rmli_attention *a = c->attention;
    struct row_range range = {0};
    size_t start = block * BLOCK, n = 0;
    for (size_t i = 0; i < tile->n_rows; i++) {
        size_t row = tile->first_row + i;
        size_t position = c->rows[row].position;
        size_t seen_from = first_key(position, c->params->window);
        if (position < start || seen_from >= start + BLOCK)
            continue;
        if (range.n++ == 0)
            range.first = i;
        size_t first = seen_from > start ? seen_from - start : 0;
        size_t last = position - start < BLOCK - 1 ? position - start + 1 : BLOCK;
        const float *q = c->q + (row * a->n_head + kv_head * a->group) * a->head_dim;
        for (size_t h = 0; h < a->group; h++, n++) {
            s->q[n] = q + h * a->head_dim;
            s->first[n] = (uint8_t)first;
            s->last[n] = (uint8_t)last;
        }
    }
    t->n_rows = n;
    t->q = s->q;
    t->first = s->first;
    t->last = s->last;
    return range;
}

/* ---- Reducing and merging ------------------------------------------------- */

/*
 * Reduces one block for the rows of the tile that see it, into `into` at their
 * places in the tile. `more`: the next block comes right after.
 */
static struct row_range reduce_block(const struct call *c, const struct tile *tile, size_t kv_head,
                                     size_t block, bool more, struct scratch *s,
                                     const struct reduced *into)
{
    const struct rmli_attention *a = c->attention;
    struct rmli_attention_tile t = {
        .head_dim = a->head_dim, .scale = c->params->scale, .weights = s->weights};
    struct row_range range = select_rows(c, tile, kv_head, block, s, &t);
    if (range.n == 0)
        return range;
    size_t place = range.first * a->group;
    t.max = into->max + place;
    t.sum = into->sum + place;
    t.out = into->out + place * a->head_dim;

    const struct rml_sequence *sequence = c->rows[tile->first_row].sequence;
    const struct rml_kv_shape *shape = rml_kv_cache_shape(rml_sequence_cache(sequence));
    uint32_t layer = c->params->layer, head = (uint32_t)kv_head;
    size_t key_nbytes = rmli_kv_head_nbytes(shape->k_dtype, a->head_dim);
    size_t value_nbytes = rmli_kv_head_nbytes(shape->v_dtype, a->head_dim);
    const uint8_t *keys = rmli_sequence_key(sequence, layer, head, block * BLOCK);
    const uint8_t *values = rmli_sequence_value(sequence, layer, head, block * BLOCK);

    t.next = values;
    t.next_nbytes = BLOCK * value_nbytes;
    c->kernels->scores[shape->k_dtype](&t, keys, key_nbytes);
    c->kernels->softmax(&t);
    t.next = more ? rmli_sequence_key(sequence, layer, head, (block + 1) * BLOCK) : NULL;
    t.next_nbytes = more ? BLOCK * key_nbytes : 0;
    c->kernels->values[shape->v_dtype](&t, values, value_nbytes);
    return range;
}

static float *out_row(const struct call *c, size_t row, size_t head)
{
    return c->out + (row * c->attention->n_head + head) * c->attention->head_dim;
}

/* Adds entry i of a block's reduction to a head row's running state: copied when
 * it is the first block that the row sees. */
static void merge_head_row(const struct call *c, size_t row, size_t head, size_t block, float *max,
                           float *sum, const struct reduced *from, size_t i)
{
    size_t head_dim = c->attention->head_dim;
    const float *from_out = from->out + i * head_dim;
    float *out = out_row(c, row, head);
    if (block == first_key(c->rows[row].position, c->params->window) / BLOCK) {
        *max = from->max[i];
        *sum = from->sum[i];
        for (size_t d = 0; d < head_dim; d++)
            out[d] = from_out[d];
    } else {
        c->kernels->merge(max, sum, out, from->max[i], from->sum[i], from_out, head_dim);
    }
}

/* Divides by the sum after the last block; 0 / 0, NaN, when every score was -inf. */
static void finish_head_row(const struct call *c, size_t row, size_t head, float sum)
{
    float *out = out_row(c, row, head);
    for (size_t d = 0; d < c->attention->head_dim; d++)
        out[d] /= sum;
}

/* ---- One unit, alone -------------------------------------------------------- */

static void run_unit(void *arg, size_t i, unsigned worker)
{
    const struct call *c = arg;
    const struct rmli_attention *a = c->attention;
    struct scratch *s = &a->scratch[worker];
    /* Later tiles of a prompt see more blocks: the long tasks go first. */
    const struct tile *tile = &a->tiles[c->n_tiles - 1 - i % c->n_tiles];
    size_t kv_head = i / c->n_tiles, head = kv_head * a->group;

    for (size_t block = tile->first_block; block < tile->end_block; block++) {
        bool more = block + 1 < tile->end_block;
        struct row_range seen = reduce_block(c, tile, kv_head, block, more, s, &s->block);
        for (size_t r = seen.first; r < seen.first + seen.n; r++)
            for (size_t h = 0, n = r * a->group; h < a->group; h++, n++)
                merge_head_row(c, tile->first_row + r, head + h, block, &s->max[n], &s->sum[n],
                               &s->block, n);
    }
    for (size_t r = 0; r < tile->n_rows; r++)
        for (size_t h = 0; h < a->group; h++)
            finish_head_row(c, tile->first_row + r, head + h, s->sum[r * a->group + h]);
}

/* ---- Blocks split over threads ---------------------------------------------- */

/* Slots of a tile and kv head for a block of the wave, one for each head row.
 * Order: (tile, kv head, block of the wave, head row). */
static struct reduced slots_of(const struct call *c, const struct tile *tile, size_t kv_head,
                               size_t wave_block)
{
    const struct rmli_attention *a = c->attention;
    size_t n_tile_head_rows = tile->n_rows * a->group;
    size_t n_before = tile->first_row * a->n_head + kv_head * n_tile_head_rows;
    size_t slot = n_before * c->wave_n_blocks + wave_block * n_tile_head_rows;
    return (struct reduced){a->slots.max + slot, a->slots.sum + slot,
                            a->slots.out + slot * a->head_dim};
}

static void reduce_some_blocks(void *arg, size_t i, unsigned worker)
{
    const struct call *c = arg;
    const struct rmli_attention *a = c->attention;
    size_t unit = i / c->n_tasks_per_unit;
    const struct tile *tile = &a->tiles[unit / a->n_head_kv];
    size_t kv_head = unit % a->n_head_kv;
    size_t begin = i % c->n_tasks_per_unit * c->task_n_blocks;
    for (size_t b = begin; b < begin + c->task_n_blocks && b < c->wave_n_blocks; b++) {
        size_t block = tile->first_block + c->wave_first + b;
        if (block >= tile->end_block)
            return;
        struct reduced into = slots_of(c, tile, kv_head, b);
        bool more = b + 1 < begin + c->task_n_blocks && block + 1 < tile->end_block;
        reduce_block(c, tile, kv_head, block, more, &a->scratch[worker], &into);
    }
}

/* Merges the wave's blocks of one head row. */
static void merge_wave(void *arg, size_t i, unsigned worker)
{
    (void)worker;
    const struct call *c = arg;
    const struct rmli_attention *a = c->attention;
    size_t row = i / a->n_head, head = i % a->n_head, kv_head = head / a->group;
    const struct tile *tile = &a->tiles[a->tile_of_row[row]];
    size_t position = c->rows[row].position;
    size_t first = first_key(position, c->params->window) / BLOCK, last = position / BLOCK;
    size_t n = (row - tile->first_row) * a->group + head % a->group;
    for (size_t b = 0; b < c->wave_n_blocks; b++) {
        size_t block = tile->first_block + c->wave_first + b;
        if (block < first)
            continue;
        if (block > last)
            return;
        struct reduced from = slots_of(c, tile, kv_head, b);
        merge_head_row(c, row, head, block, &a->split_max[i], &a->split_sum[i], &from, n);
        if (block == last)
            finish_head_row(c, row, head, a->split_sum[i]);
    }
}

/* Plans a split call; false when units are enough, or too small to split. */
static bool plan_split(struct call *c)
{
    const struct rmli_attention *a = c->attention;
    size_t n_units = c->n_tiles * a->n_head_kv, n_threads = a->n_workers;
    if (n_threads == 1 || n_units >= ENOUGH_UNITS_PER_THREAD * n_threads)
        return false;
    size_t n_blocks = 0;
    for (size_t i = 0; i < c->n_tiles; i++) {
        size_t n = a->tiles[i].end_block - a->tiles[i].first_block;
        c->longest = n > c->longest ? n : c->longest;
        n_blocks += n * a->n_head_kv;
    }
    size_t wave = a->n_slots / (c->n_rows * a->n_head);
    c->wave_n_blocks = wave < c->longest ? wave : c->longest;
    if (c->wave_n_blocks < MIN_BLOCKS_TO_SPLIT)
        return false;
    size_t n = n_blocks / (SPLIT_TASKS_PER_THREAD * n_threads);
    c->task_n_blocks = n < 1 ? 1 : n < c->wave_n_blocks ? n : c->wave_n_blocks;
    c->n_tasks_per_unit = (c->wave_n_blocks + c->task_n_blocks - 1) / c->task_n_blocks;
    return true;
}

static void run_split(struct call *c, struct rml_thread_pool *pool)
{
    const struct rmli_attention *a = c->attention;
    size_t n_units = c->n_tiles * a->n_head_kv;
    for (c->wave_first = 0; c->wave_first < c->longest; c->wave_first += c->wave_n_blocks) {
        rmli_parallel_for(pool, n_units * c->n_tasks_per_unit, reduce_some_blocks, c);
        rmli_parallel_for(pool, c->n_rows * a->n_head, merge_wave, c);
    }
}

/* ---- The call --------------------------------------------------------------- */

/* Cuts the batch into tiles; returns their number. */
static size_t make_tiles(struct rmli_attention *a, const struct rmli_row *rows, size_t n_rows,
                         size_t window)
{
    size_t n_tiles = 0;
    for (size_t row = 0; row < n_rows; row++) {
        struct tile *tile = n_tiles > 0 ? &a->tiles[n_tiles - 1] : NULL;
        if (!tile || tile->n_rows == a->tile_rows ||
            rows[row].sequence != rows[tile->first_row].sequence) {
            tile = &a->tiles[n_tiles++];
            *tile = (struct tile){.first_row = row,
                                  .first_block = first_key(rows[row].position, window) / BLOCK};
        }
        tile->n_rows++;
        tile->end_block = rows[row].position / BLOCK + 1;
        a->tile_of_row[row] = (uint32_t)(n_tiles - 1);
    }
    return n_tiles;
}

void rmli_attend(struct rmli_attention *attention, struct rml_thread_pool *pool,
                 const struct rmli_kernels *kernels, const struct rmli_attention_params *params,
                 const struct rmli_row *rows, size_t n_rows, const float *q, float *out)
{
    struct call c = {
        .attention = attention,
        .kernels = kernels->attention,
        .params = params,
        .rows = rows,
        .q = q,
        .out = out,
        .n_rows = n_rows,
        .n_tiles = make_tiles(attention, rows, n_rows, params->window),
    };
    if (n_rows == 0)
        return;
    if (plan_split(&c))
        run_split(&c, pool);
    else
        rmli_parallel_for(pool, c.n_tiles * attention->n_head_kv, run_unit, &c);
}
