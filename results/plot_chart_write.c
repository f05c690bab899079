/*
 * The data file of a chart: what is said about it, then a block of points for each panel.
 */
#include "results/plot_chart.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Longest line under the title that fits 800 pixels. */
#define LINE_NCHARS 128

/* NAME: one line. LABEL: may have several. TIC: also, and % starts a format. */
enum text_use { NAME, TIC, LABEL };

/* A text in double quotes as gnuplot reads it: escapes doubled, no quotes or control characters,
 * bytes that are no UTF-8 as '?'. */
static void put_text(FILE *data, const char *text, enum text_use use)
{
    fputc('"', data);
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        int n = *c < 0x80 ? 1 : *c >= 0xf0 && *c < 0xf5 ? 4 : *c >= 0xe0 ? 3 : *c >= 0xc2 ? 2 : 0;
        bool whole = *c < 0xf5 && n > 0;
        for (int i = 1; whole && i < n; i++)
            whole = (c[i] & 0xc0) == 0x80;
        if (!whole) {
            fputc('?', data);
            c++;
            continue;
        }
        if (*c == '\\' || (*c == '%' && use == TIC))
            fputc(*c, data);
        if (*c == '\n' && use != NAME)
            fputs("\\n", data);
        else if (*c == '"')
            fputc('\'', data);
        else if (*c < 0x20 || *c == 0x7f)
            fputc(' ', data);
        else
            fwrite(c, 1, (size_t)n, data);
        c += n;
    }
    fputs("\" ", data);
}

static void put_number(FILE *data, double x)
{
    if (isfinite(x))
        fprintf(data, "%.12g ", x);
    else
        fputs("NaN ", data);
}

/* Cuts a line to what fits, between characters. */
static void fit(char *line)
{
    size_t n_chars = 0;
    for (char *c = line; *c; c++) {
        n_chars += ((unsigned char)*c & 0xc0) != 0x80;
        if (n_chars > LINE_NCHARS) {
            strcpy(c - 3, "...");
            return;
        }
    }
}

/* Breaks the title of a panel after a comma where it gets too long for its width. */
static void wrap(char *title, size_t n_columns)
{
    const size_t longest = n_columns > 1 ? 56 : 112;
    size_t start = 0, comma = 0;
    for (size_t i = 0; title[i]; i++) {
        if (title[i] == ',')
            comma = i;
        if (i - start >= longest && comma > start) {
            title[comma + 1] = '\n';
            start = comma + 2;
        }
    }
}

/* ---- What is the same for all --------------------------------------------------------------- */

static void constants(const struct chart *chart, char *line, size_t nbytes)
{
    /* The host is in the line of machines, the build in that of programs. */
    unsigned elsewhere = DIM(HOST) | DIM(BUILD) | DIM(WORK);
    chart_name(chart, chart->points, ~(chart->differing | elsewhere), ", ", line, nbytes);
}

/* "A", or "A and N more" when there are others. */
static void list(const struct chart *chart, size_t offset, char *text, size_t nbytes)
{
    const char *first = NULL;
    size_t n_others = 0;
    for (size_t i = 0; i < chart->n; i++) {
        const char *value, *other;
        memcpy(&value, (const char *)&chart->points[i] + offset, sizeof value);
        bool seen = false;
        for (size_t k = 0; k < i && !seen; k++) {
            memcpy(&other, (const char *)&chart->points[k] + offset, sizeof other);
            seen = other == value;
        }
        if (!first)
            first = value;
        else if (!seen)
            n_others++;
    }
    if (n_others)
        snprintf(text, nbytes, "%s and %zu more", first, n_others);
    else
        snprintf(text, nbytes, "%s", first ? first : "");
}

static void statistics(const struct chart *chart, char *line, size_t nbytes)
{
    int64_t n_min = INT64_MAX, n_max = 0;
    double coverage = NAN;
    unsigned marks = 0;
    for (size_t i = 0; i < chart->n; i++) {
        const struct chart_point *p = &chart->points[i];
        marks |= p->marks;
        if (p->n <= 0)
            continue;
        n_min = p->n < n_min ? p->n : n_min;
        n_max = p->n > n_max ? p->n : n_max;
        if (isnan(coverage) || p->coverage < coverage)
            coverage = p->coverage;
    }
    size_t used = 0;
    line[0] = 0;
    if (n_max > 0 && n_min == n_max)
        used = (size_t)snprintf(line, nbytes, "n = %" PRId64, n_min);
    else if (n_max > 0)
        used = (size_t)snprintf(line, nbytes, "n = %" PRId64 " to %" PRId64, n_min, n_max);
    if (!isnan(coverage))
        used += (size_t)snprintf(line + used, nbytes - used, ", %.1f %% confidence intervals",
                                 100 * coverage);
    static const char *const said[][2] = {
        {"\1", "* time was not steady"},
        {"\2", "wrong: logits out of bounds, in no ratio"},
        {"\4", "hollow: built from changed sources"},
    };
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        if (marks & (unsigned)said[i][0][0] && used < nbytes)
            used +=
                (size_t)snprintf(line + used, nbytes - used, "%s%s", used ? "; " : "", said[i][1]);
    }
}

/* ---- The file ---------------------------------------------------------------------------------- */

static void write_runs(const struct chart *chart, FILE *data)
{
    fprintf(data, "# runs:");
    for (size_t i = 0; i < chart->n; i++) {
        bool is_new = chart->points[i].run_uuid[0] != 0;
        for (size_t k = 0; k < i && is_new; k++)
            is_new = chart->points[k].run_uuid != chart->points[i].run_uuid;
        if (is_new)
            fprintf(data, " %s", chart->points[i].run_uuid);
    }
    fputc('\n', data);
}

static void write_heading(const struct chart *chart, FILE *data)
{
    char machine[256], program[256], lines[3][1024];
    list(chart, offsetof(struct chart_point, machine), machine, sizeof machine);
    list(chart, offsetof(struct chart_point, program), program, sizeof program);
    constants(chart, lines[0], sizeof lines[0]);
    snprintf(lines[1], sizeof lines[1], "%s%s%s", machine, machine[0] && program[0] ? "; " : "",
             program);
    statistics(chart, lines[2], sizeof lines[2]);
    if (chart->note) {
        size_t used = strlen(lines[2]);
        snprintf(lines[2] + used, sizeof lines[2] - used, "%s%s", used ? "; " : "", chart->note);
    }
    fputs("# title, three lines under it, labels of x and y, logarithmic axes, panels, series, "
          "columns of panels\n",
          data);
    put_text(data, chart->title, NAME);
    for (int i = 0; i < 2; i++) {
        if (!lines[i][0]) { /* the others move up */
            memmove(lines[i], lines[i + 1], sizeof lines[0] * (size_t)(2 - i));
            lines[2][0] = 0;
        }
    }
    for (int i = 0; i < 3; i++) {
        fit(lines[i]);
        put_text(data, lines[i], NAME);
    }
    put_text(data, chart->x_label, NAME);
    put_text(data, chart->y_label, NAME);
    put_text(data, chart->axes, NAME);
    fprintf(data, "%zu %zu %zu\n", chart->n_panels, chart->n_series, chart->n_columns);
}

/* The dimensions in which points of the panel differ whose first point is given; without those
 * that have one of these marks. */
static unsigned differing_in_panel(const struct chart *chart, size_t first, unsigned marks)
{
    unsigned mask = 0;
    size_t panel = chart->points[first].panel;
    const struct chart_point *p = NULL;
    for (size_t i = first; i < chart->n && chart->points[i].panel == panel; i++) {
        if (chart->points[i].marks & marks)
            continue;
        p = p ? p : &chart->points[i];
        for (int d = 0; d < CHART_N_DIMS; d++)
            mask |= (unsigned)(chart->points[i].dim[d] != p->dim[d]) << d;
    }
    return mask;
}

void chart_write(const struct chart *chart, const char *kind, const char *sql, FILE *data)
{
    fprintf(data, "# rml-results plot %s\n", kind);
    write_runs(chart, data);
    fputs("# sql: ", data);
    for (const char *c = sql; *c; c++)
        fputc(*c == '\n' ? ' ' : *c, data);
    fprintf(data, "\n# rows: %zu in %zu panels\n", chart->n, chart->n_panels);
    write_heading(chart, data);

    /* A tic has a name, also when it is the only one. */
    unsigned x_dims =
        chart->x_dims & chart->differing ? chart->x_dims & chart->differing : chart->x_dims;
    bool is_kv = x_dims == DIM(KV); /* which the label of the axis says */
    bool is_count = x_dims == DIM(DEPTH) || x_dims == DIM(THREADS);
    unsigned here = 0, here_work = 0; /* roofs have names of their own */
    char name[512];
    for (size_t i = 0; i < chart->n; i++) {
        const struct chart_point *p = &chart->points[i];
        if (i == 0 || p->panel != p[-1].panel)
            fputs("\n\n# panel, series, its name, x, its name, y, lo, hi, marks, label, its x and "
                  "y, rank of x, slot, slots, ranges of x and y, are they logarithmic\n",
                  data);
        if (i == 0 || p->panel != p[-1].panel) {
            here = differing_in_panel(chart, i, 0);
            here_work = differing_in_panel(chart, i, MARK_ROOF);
        }
        chart_name(chart, p, chart->differing & ~(here | chart->x_dims | DIM(WORK)), ", ", name,
                   sizeof name);
        wrap(name, chart->n_columns);
        put_text(data, name, LABEL);
        fprintf(data, "%zu ", p->series);
        chart_name(chart, p, chart->series_dims & here_work, ", ", name, sizeof name);
        put_text(data, name, NAME);
        put_number(data, p->x);
        if (is_count)
            snprintf(name, sizeof name, "%.0f", p->x);
        else
            chart_name(chart, p, x_dims, chart->x_separator, name, sizeof name);
        put_text(data, is_kv ? name + strlen("kv ") : name, TIC);
        put_number(data, p->y);
        put_number(data, isnan(p->lo) ? p->y : p->lo); /* no interval */
        put_number(data, isnan(p->hi) ? p->y : p->hi);
        fprintf(data, "%u ", p->marks);
        put_text(data, p->label ? p->label : "", LABEL);
        put_number(data, p->label_x);
        put_number(data, p->label_y);
        const struct chart_range *r = &chart->ranges[p->panel];
        fprintf(data, "%zu %zu %zu %.9g %.9g %.9g %.9g %d %d\n", p->cluster, p->slot, p->n_slots,
                r->x_min, r->x_max, r->y_min, r->y_max, r->log_x, r->log_y);
    }
}
