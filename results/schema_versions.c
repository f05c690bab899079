#include "results/schema.h"

#include <stddef.h>

static const char *const version_1[] = {schema_v1_tables, schema_v1_views, NULL};
static const char *const version_2[] = {schema_v2, NULL};
static const char *const version_3[] = {schema_v3_eval, NULL};
static const char *const version_4[] = {schema_v4_eval_verdict, NULL};
static const char *const version_5[] = {schema_v5_run_model, NULL};

const struct schema_version schema_versions[] = {
    {version_1}, {version_2}, {version_3}, {version_4}, {version_5},
};

const int schema_n_versions = sizeof schema_versions / sizeof schema_versions[0];
