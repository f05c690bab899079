#include "results/plot_kinds.h"

#include <string.h>

const struct plot_kind plot_kinds[] = {
    {"throughput-by-kv", "tokens per second by cache type", "bars", plot_export_speed},
    {"throughput-by-depth", "tokens per second by depth", "lines", plot_export_speed},
    {"throughput-by-threads", "tokens per second by threads", "lines", plot_export_speed},
    {"throughput-by-weights", "tokens per second by weight type", "bars", plot_export_speed},
    {"memory-speed", "memory against tokens per second", "scatter", plot_export_memory},
    {"latency", "percentiles of the time from token to token", "lines", plot_export_latency},
    {"roofline", "operations per second under the measured roofs", "roofline",
     plot_export_roofline},
    {"history", "time by run, one host at a time", "history", plot_export_history},
    {"samples", "every sample, quartiles and median", "samples", plot_export_samples},
    {"ab", "ratios of a comparison with intervals and gate", "ratios", plot_export_verdicts},
    {"peers", "engines side by side", "bars", plot_export_speed},
    {"quality", "perplexity and KL divergence against memory and speed", "quality",
     plot_export_quality},
    {0},
};

const struct plot_kind *plot_find_kind(const char *name)
{
    const struct plot_kind *kind = plot_kinds;
    while (kind->name && strcmp(kind->name, name) != 0)
        kind++;
    return kind->name ? kind : NULL;
}
