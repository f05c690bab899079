#include "results/plot_kinds.h"

#include <string.h>

const struct plot_kind plot_kinds[] = {
    {"throughput-by-kv", "tokens per second by cache type", "bars", plot_export_speed},
    {"throughput-by-depth", "tokens per second by depth", "lines", plot_export_speed},
    {"throughput-by-threads", "tokens per second by threads", "lines", plot_export_speed},
    {"throughput-by-weights", "tokens per second by weight type", "bars", plot_export_speed},
    {"peers", "engines side by side", "bars", plot_export_speed},
    {0},
};

const struct plot_kind *plot_find_kind(const char *name)
{
    const struct plot_kind *kind = plot_kinds;
    while (kind->name && strcmp(kind->name, name) != 0)
        kind++;
    return kind->name ? kind : NULL;
}
