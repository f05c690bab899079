#include "results/plot.h"

const struct plot_kind plot_kinds[] = {
    {"throughput-by-kv", "tokens per second by cache type", plot_export_throughput_by_kv},
    {0},
};
