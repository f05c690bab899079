#include "results/schema.h"

#include <stddef.h>

static const char *const version_1[] = {schema_v1_tables, schema_v1_views, NULL};

const struct schema_version schema_versions[] = {
    {version_1},
};

const int schema_n_versions = sizeof schema_versions / sizeof schema_versions[0];
