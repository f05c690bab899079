#include "results/figures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

void utc_text(int64_t ns, char text[32])
{
    time_t s = (time_t)(ns / 1000000000);
    struct tm tm;
    if (!gmtime_r(&s, &tm) || strftime(text, 32, "%Y-%m-%d %H:%M:%SZ", &tm) == 0)
        strcpy(text, "-");
}

void cell_text(struct cli_table *table, const char *text)
{
    cli_table_cell(table, "%s", text && *text ? text : "-");
}

static const char *figure(char text[32], double x)
{
    if (isnan(x))
        strcpy(text, "-");
    else
        snprintf(text, 32, "%.*f", fabs(x) < 1 ? 3 : fabs(x) < 10 ? 2 : fabs(x) < 100 ? 1 : 0, x);
    return text;
}

void cell_figure(struct cli_table *table, double x)
{
    char text[32];
    cli_table_cell(table, "%s", figure(text, x));
}

void cell_whole(struct cli_table *table, double n)
{
    if (isnan(n))
        cli_table_cell(table, "-");
    else
        cli_table_cell(table, "%.0f", n);
}

void cell_ratio(struct cli_table *table, double ratio)
{
    if (isnan(ratio))
        cli_table_cell(table, "-");
    else
        cli_table_cell(table, "%.3f", ratio);
}

struct unit {
    const char *name;
    double ns;
};

static struct unit unit_of(double ns)
{
    static const struct unit units[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};
    size_t u = 0;
    while (u < 3 && ns < units[u].ns)
        u++;
    return units[u];
}

void cell_interval(struct cli_table *table, double ns, double lo_ns, double hi_ns)
{
    char median[32], lo[32], hi[32];
    struct unit unit = unit_of(ns);
    if (isnan(ns))
        cli_table_cell(table, "-");
    else if (isnan(lo_ns) || isnan(hi_ns))
        cli_table_cell(table, "%s %s", figure(median, ns / unit.ns), unit.name);
    else
        cli_table_cell(table, "%s %s [%s, %s]", figure(median, ns / unit.ns), unit.name,
                       figure(lo, lo_ns / unit.ns), figure(hi, hi_ns / unit.ns));
}

void cell_time(struct cli_table *table, double ns)
{
    cell_interval(table, ns, NAN, NAN);
}
