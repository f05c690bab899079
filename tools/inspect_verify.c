/*
 * Reads every value of a checkpoint and looks for damage.
 *
 * NaN and infinity are found as such: a quantised block with a scale that is one
 * makes values that are. A flipped exponent bit of a block's scale makes finite
 * nonsense, and what is nonsense is known from the tensor itself: absurd is
 *
 *     any type     |value| > 65504, the largest f16: no trained weight is near it
 *     quantised    |value| > 1 and 4096 times the tensor's typical block maximum
 *
 * Typical is the median over groups of 32 values of the exponent of their largest, from
 * a histogram, which damage to less than half the tensor does not move. 4096 times that
 * leaves room for every outlier that training makes, while the highest bit of an f16
 * exponent multiplies by 2^16. The next bit, 2^8, is not told from an outlier.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "inspect.h"
#include "tools/cli/json_out.h"
#include "tools/cli/options.h"
#include "tools/cli/report.h"

/* A multiple of every block. */
#define TASK_NELEMS ((size_t)65536)
#define GROUP_NELEMS 32
#define LARGEST_F16 65504.0F
#define ABSURD_EXPONENTS 12 /* 2^12 = 4096 */

/* What was found in the values of one task, elements counted in the tensor. */
struct found {
    uint64_t n_nan, first_nan, n_inf, first_inf;
    uint64_t largest_at;
    float largest; /* of the finite ones, by magnitude; with its sign */
};

/* Of each worker: space, and groups counted by the exponent of their largest value. */
struct worker {
    float *values; /* [TASK_NELEMS] */
    uint64_t n_groups[256];
};

struct verification {
    const struct rml_checkpoint *cp;
    const struct rml_tensor_info *tensor;
    uint64_t nelems;
    struct worker *workers;
    unsigned n_workers;
    struct found *found; /* [n_tasks] */
    size_t n_found_room;
    uint64_t nbytes_done, nbytes_total;
    size_t n_tasks;
};

static unsigned biased_exponent(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits >> 23 & 255;
}

static void look(const float *values, size_t n, uint64_t first, struct found *found,
                 uint64_t n_groups[256])
{
    *found = (struct found){.largest_at = first};
    for (size_t i = 0; i < n; i += GROUP_NELEMS) {
        float largest = 0;
        for (size_t k = i; k < n && k < i + GROUP_NELEMS; k++) {
            float x = values[k], magnitude = fabsf(x);
            if (biased_exponent(x) == 255) {
                bool is_nan = isnan(x);
                uint64_t *count = is_nan ? &found->n_nan : &found->n_inf;
                if ((*count)++ == 0)
                    *(is_nan ? &found->first_nan : &found->first_inf) = first + k;
                continue;
            }
            if (magnitude > largest)
                largest = magnitude;
            if (magnitude > fabsf(found->largest)) {
                found->largest = x;
                found->largest_at = first + k;
            }
        }
        n_groups[biased_exponent(largest)]++;
    }
}

static void verify_task(void *arg, size_t i, unsigned worker)
{
    struct verification *v = arg;
    uint64_t first = i * TASK_NELEMS;
    size_t n = v->nelems - first < TASK_NELEMS ? (size_t)(v->nelems - first) : TASK_NELEMS;
    v->found[i] = (struct found){.largest_at = first};
    if (cli_interrupted())
        return;
    rml_tensor_widen(v->tensor, first, n, v->workers[worker].values);
    look(v->workers[worker].values, n, first, &v->found[i], v->workers[worker].n_groups);
    /* Worker 0 is the calling thread, which alone may print. */
    if (worker == 0 && v->nbytes_total)
        cli_progress("verifying %.0f %%: %s",
                     100.0 *
                         ((double)v->nbytes_done +
                          (double)v->tensor->nbytes * (double)i / (double)v->n_tasks) /
                         (double)v->nbytes_total,
                     v->tensor->name);
}

static struct found merge(const struct found *found, size_t n)
{
    struct found all = {0};
    for (size_t i = 0; i < n; i++) {
        const struct found *f = &found[i];
        if (!all.n_nan)
            all.first_nan = f->first_nan;
        if (!all.n_inf)
            all.first_inf = f->first_inf;
        all.n_nan += f->n_nan;
        all.n_inf += f->n_inf;
        if (fabsf(f->largest) > fabsf(all.largest)) {
            all.largest = f->largest;
            all.largest_at = f->largest_at;
        }
    }
    return all;
}

/* 2 to the median exponent of the groups' largest values. */
static float typical_magnitude(const struct verification *v)
{
    uint64_t n_groups[256] = {0}, n = 0, below = 0;
    for (unsigned w = 0; w < v->n_workers; w++)
        for (int e = 0; e < 256; e++) {
            n_groups[e] += v->workers[w].n_groups[e];
            n += v->workers[w].n_groups[e];
        }
    int e = 0;
    for (; e < 254 && (below += n_groups[e]) * 2 <= n;)
        e++;
    return ldexpf(1, e - 127);
}

static void add_finding(json_t *findings, const struct rml_tensor_info *tensor, const char *kind,
                        uint64_t n, uint64_t element, json_t *value, json_t *typical)
{
    json_array_append_new(findings,
                          json_pack("{so ss sI so so so}", "tensor", cli_json_text(tensor->name),
                                    "kind", kind, "n", (json_int_t)n, "element",
                                    inspect_element(tensor->n_dims, tensor->dims, element), "value",
                                    value, "typical", typical));
}

static void judge(const struct verification *v, const struct found *f, json_t *findings)
{
    if (f->n_nan)
        add_finding(findings, v->tensor, "nan", f->n_nan, f->first_nan, json_null(), json_null());
    if (f->n_inf)
        add_finding(findings, v->tensor, "inf", f->n_inf, f->first_inf, json_null(), json_null());
    float magnitude = fabsf(f->largest), typical = typical_magnitude(v);
    bool is_weight = v->tensor->dtype < RML_N_WEIGHT_DTYPES;
    bool quantised = rml_dtype_traits(v->tensor->dtype)->block_nelems > 1;
    if ((is_weight && magnitude > LARGEST_F16) ||
        (quantised && magnitude > 1 && magnitude > ldexpf(typical, ABSURD_EXPONENTS)))
        add_finding(findings, v->tensor, "absurd", 1, f->largest_at,
                    cli_json_real((double)f->largest), cli_json_real((double)typical));
}

static bool verify_tensor(struct verification *v, struct rml_thread_pool *pool, json_t *findings,
                          struct rml_error *err)
{
    v->nelems = rml_tensor_nelems(v->tensor);
    v->n_tasks = (size_t)((v->nelems + TASK_NELEMS - 1) / TASK_NELEMS);
    if (v->n_tasks > v->n_found_room) {
        struct found *grown = realloc(v->found, v->n_tasks * sizeof *grown);
        if (!grown)
            return rmli_fail(err, RML_NO_MEMORY, v->tensor->file, -1, "no memory to verify '%s'",
                             v->tensor->name);
        v->found = grown;
        v->n_found_room = v->n_tasks;
    }
    for (unsigned w = 0; w < v->n_workers; w++)
        memset(v->workers[w].n_groups, 0, sizeof v->workers[w].n_groups);
    rmli_parallel_for(pool, v->n_tasks, verify_task, v);
    if (cli_interrupted())
        return rmli_fail(err, RML_CANCELLED, v->tensor->file, -1, "interrupted at the tensor '%s'",
                         v->tensor->name);
    struct found all = merge(v->found, v->n_tasks);
    judge(v, &all, findings);
    v->nbytes_done += v->tensor->nbytes;
    return true;
}

static bool make_workers(struct verification *v, struct rml_thread_pool *pool,
                         struct rml_error *err)
{
    v->n_workers = rml_thread_pool_size(pool);
    v->workers = calloc(v->n_workers, sizeof *v->workers);
    bool ok = v->workers != NULL;
    for (unsigned w = 0; ok && w < v->n_workers; w++)
        ok = (v->workers[w].values = malloc(TASK_NELEMS * sizeof(float))) != NULL;
    return ok || rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %u workers", v->n_workers);
}

json_t *inspect_verify(const struct rml_checkpoint *cp, struct rml_thread_pool *pool,
                       struct rml_error *err)
{
    struct verification v = {.cp = cp};
    json_t *findings = json_array();
    uint64_t n_values = 0;
    size_t n = rml_checkpoint_n_tensors(cp);
    bool ok = make_workers(&v, pool, err);
    for (size_t i = 0; i < n; i++)
        v.nbytes_total += rml_checkpoint_tensor(cp, i)->nbytes;
    for (size_t i = 0; ok && i < n; i++) {
        v.tensor = rml_checkpoint_tensor(cp, i);
        ok = verify_tensor(&v, pool, findings, err);
        n_values += v.nelems;
    }
    cli_progress_clear();
    for (unsigned w = 0; v.workers && w < v.n_workers; w++)
        free(v.workers[w].values);
    free(v.workers);
    free(v.found);
    if (!ok) {
        json_decref(findings);
        return NULL;
    }
    return json_pack("{sb sI sI so}", "passed", (int)(json_array_size(findings) == 0), "n_tensors",
                     (json_int_t)n, "n_values", (json_int_t)n_values, "findings", findings);
}
