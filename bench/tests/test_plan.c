/*
 * Plans: a spec survives the way to a child; what memory there is.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/estimate.h"
#include "bench/memory_fit.h"
#include "bench/suite.h"

static struct bench_spec *example(struct bench_plan *plan)
{
    struct rml_error err = RML_ERROR_INIT;
    struct bench_spec *spec = bench_plan_add(plan, &bench_decoder_suite, "shape/decode", &err);
    cr_assert(spec, "%s", err.message);
    spec->what.weight_dtype = "Q4_0";
    spec->what.arithmetic = "i8";
    spec->what.k_dtype = "f16";
    spec->what.v_dtype = "i8";
    spec->what.threads = 3;
    spec->what.n_gen = 16;
    spec->what.n_depth = 128;
    cr_assert(bench_spec_params(
        spec, json_pack("{sI sI}", "n_head", (json_int_t)32, "seed", (json_int_t)-1), &err));
    return spec;
}

Test(plan, a_spec_survives_the_way_to_a_child)
{
    struct bench_plan plan = {0};
    struct rml_error err = RML_ERROR_INIT;
    struct bench_spec *spec = example(&plan);
    json_t *document = bench_spec_to_json(spec);
    char *text = json_dumps(document, 0);
    json_decref(document);
    document = json_loads(text, 0, NULL);
    struct bench_spec *read = bench_spec_from_json(document, &err);
    cr_assert(read, "%s", err.message);
    json_decref(document);
    char *key = bench_spec_key(spec), *read_key = bench_spec_key(read);
    cr_expect_str_eq(key, read_key);
    cr_expect(strstr(key, "decoder/shape/decode engine=rml weights=Q4_0 kv=f16:i8 arithmetic=i8"));
    cr_expect(bench_spec_seed(read) == UINT64_MAX);
    enum rml_kv_dtype k, v;
    cr_expect(bench_spec_kv(read, &k, &v, &err) && k == RML_KV_F16 && v == RML_KV_I8);
    uint32_t n_head;
    cr_expect(bench_spec_u32(read, "n_head", 64, &n_head, &err) && n_head == 32);
    cr_expect(!bench_spec_u32(read, "n_head", 16, &n_head, &err));
    free(key);
    free(read_key);
    free(text);
    bench_spec_destroy(read);
    bench_plan_release(&plan);
}

Test(plan, a_document_that_is_no_spec_is_refused)
{
    struct bench_plan plan = {0};
    struct bench_spec *spec = example(&plan);
    static const char *const members[] = {"suite", "name", "params", "threads", "n_depth"};
    static const char *const wrong[] = {"17", "null", "[]", "\"nosuch\"", "-1"};
    for (size_t m = 0; m < sizeof members / sizeof *members; m++) {
        for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
            struct rml_error err = RML_ERROR_INIT;
            json_t *document = bench_spec_to_json(spec);
            json_t *value = json_loads(wrong[w], JSON_DECODE_ANY, NULL);
            /* a name may be any text, a number any number */
            bool right = (m == 1 && w == 3) || (m == 3 && (w == 0 || w == 4)) ||
                         (m == 4 && (w == 0 || w == 4));
            json_object_set_new(document, members[m], value);
            struct bench_spec *read = bench_spec_from_json(document, &err);
            cr_expect((read != NULL) == right, "%s = %s", members[m], wrong[w]);
            cr_expect(right || err.code == RML_INVALID_ARGUMENT);
            bench_spec_destroy(read);
            json_decref(document);
        }
    }
    bench_plan_release(&plan);
}

Test(plan, the_hash_is_of_cases_repetitions_and_profile)
{
    struct bench_plan one = {0}, other = {0};
    struct rml_error err = RML_ERROR_INIT;
    char a[65], b[65];
    example(&one);
    struct bench_spec *spec = example(&other);
    cr_assert(bench_plan_sha256(&one, 21, false, a, &err) &&
              bench_plan_sha256(&other, 21, false, b, &err));
    cr_expect_str_eq(a, b);
    cr_assert(bench_plan_sha256(&other, 22, false, b, &err));
    cr_expect(strcmp(a, b) != 0);
    cr_assert(bench_plan_sha256(&other, 21, true, b, &err));
    cr_expect(strcmp(a, b) != 0);
    spec->what.n_depth++;
    cr_assert(bench_plan_sha256(&other, 21, false, b, &err));
    cr_expect(strcmp(a, b) != 0);
    bench_plan_release(&one);
    bench_plan_release(&other);
}

Test(plan, what_does_not_fit_is_skipped_with_its_reason)
{
    struct bench_plan plan = {0};
    struct bench_spec *small = example(&plan), *large = example(&plan), *misfit = example(&plan);
    small->memory_nbytes = 1e9;
    large->memory_nbytes = misfit->memory_nbytes = 3e9;
    bench_spec_skip(misfit, "no such thing as %d", 7);
    bench_skip_what_does_not_fit(&plan, NAN);
    cr_expect(!large->skip_reason);
    bench_skip_what_does_not_fit(&plan, 2e9);
    cr_expect(!small->skip_reason);
    cr_expect_str_eq(large->skip_reason, "needs about 3 GB of memory, 2 GB are available");
    cr_expect_str_eq(misfit->skip_reason, "no such thing as 7");
    cr_expect(bench_estimate_seconds(small, 21) > 0 && bench_estimate_seconds(large, 21) == 0);
    bench_plan_release(&plan);
}

/* ---- Memory of a machine laid out in a folder ------------------------------------------------ */

static char root[] = "/tmp/rml-memory-XXXXXX";

static void put(const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *slash = strchr(full + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(full, 0777);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    cr_assert(file, "%s", full);
    fputs(text, file);
    fclose(file);
}

Test(memory, the_least_of_machine_and_groups)
{
    cr_assert(mkdtemp(root));
    cr_expect(isnan(bench_memory_available(root)));
    put("/proc/meminfo", "MemTotal: 9000000 kB\nMemFree: 1 kB\nMemAvailable:    8000000 kB\n");
    cr_expect(bench_memory_available(root) == 8000000.0 * 1024);
    /* version 2: no limit in the group, one in its parent; its file pages can be dropped */
    put("/proc/self/cgroup", "0::/a/b\n");
    put("/sys/fs/cgroup/a/b/memory.max", "max\n");
    put("/sys/fs/cgroup/a/b/memory.current", "4096\n");
    cr_expect(bench_memory_available(root) == 8000000.0 * 1024);
    put("/sys/fs/cgroup/a/memory.max", "1000000\n");
    put("/sys/fs/cgroup/a/memory.current", "600000\n");
    cr_expect(bench_memory_available(root) == 400000);
    put("/sys/fs/cgroup/a/memory.stat", "anon 1\nactive_file 7\ninactive_file 50000\n");
    cr_expect(bench_memory_available(root) == 450000);
    /* version 1, whose "no limit" is a huge number */
    put("/proc/self/cgroup", "5:cpu:/x\n7:memory:/c\n");
    put("/sys/fs/cgroup/memory/c/memory.limit_in_bytes", "9223372036854771712\n");
    put("/sys/fs/cgroup/memory/c/memory.usage_in_bytes", "5\n");
    cr_expect(bench_memory_available(root) == 8000000.0 * 1024);
    put("/sys/fs/cgroup/memory/c/memory.limit_in_bytes", "3000\n");
    cr_expect(bench_memory_available(root) == 2995);
    char command[256];
    snprintf(command, sizeof command, "rm -r %s", root);
    cr_assert(system(command) == 0);
}
