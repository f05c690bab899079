#include "results/plot_chart.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- Texts: each kept once, found by hashing -------------------------------------------- */

struct chart_texts {
    char **slots;
    size_t n, n_slots; /* a power of two, or 0 */
};

static size_t slot_of(const struct chart_texts *t, const char *text)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (const char *c = text; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    size_t i = hash & (t->n_slots - 1);
    while (t->slots[i] && strcmp(t->slots[i], text) != 0)
        i = (i + 1) & (t->n_slots - 1);
    return i;
}

static bool grow(struct chart_texts *t)
{
    struct chart_texts bigger = {.n = t->n, .n_slots = t->n_slots ? 2 * t->n_slots : 64};
    bigger.slots = calloc(bigger.n_slots, sizeof *bigger.slots);
    if (!bigger.slots)
        return false;
    for (size_t i = 0; i < t->n_slots; i++) {
        if (t->slots[i])
            bigger.slots[slot_of(&bigger, t->slots[i])] = t->slots[i];
    }
    free(t->slots);
    *t = bigger;
    return true;
}

const char *chart_text(struct chart *chart, const char *text)
{
    struct chart_texts *t = chart->texts;
    if (!text || !*text || !t)
        return "";
    if (2 * t->n >= t->n_slots && !grow(t)) {
        chart->no_memory = true;
        return "";
    }
    size_t i = slot_of(t, text);
    if (!t->slots[i]) {
        t->slots[i] = strdup(text);
        if (!t->slots[i]) {
            chart->no_memory = true;
            return "";
        }
        t->n++;
    }
    return t->slots[i];
}

const char *chart_format(struct chart *chart, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return chart_text(chart, text);
}

/* ---- Points ------------------------------------------------------------------------------- */

void chart_init(struct chart *chart)
{
    *chart = (struct chart){.title = "", .x_label = "", .y_label = "", .x_separator = ", "};
    chart->texts = calloc(1, sizeof *chart->texts);
    chart->no_memory = !chart->texts;
}

void chart_release(struct chart *chart)
{
    for (size_t i = 0; chart->texts && i < chart->texts->n_slots; i++)
        free(chart->texts->slots[i]);
    if (chart->texts)
        free(chart->texts->slots);
    free(chart->texts);
    free(chart->points);
    *chart = (struct chart){0};
}

struct chart_point *chart_add(struct chart *chart)
{
    if (chart->n == chart->n_room) {
        size_t n_room = 2 * chart->n_room + 64;
        struct chart_point *points = realloc(chart->points, n_room * sizeof *points);
        if (!points) {
            chart->no_memory = true;
            return NULL;
        }
        chart->points = points;
        chart->n_room = n_room;
    }
    struct chart_point *p = &chart->points[chart->n++];
    *p = (struct chart_point){
        .x = NAN, .y = NAN, .lo = NAN, .hi = NAN, .coverage = NAN, .label_x = NAN, .label_y = NAN};
    for (int d = 0; d < CHART_N_DIMS; d++)
        p->dim[d] = "";
    p->run_uuid = p->machine = p->program = p->file = p->family = "";
    return p;
}

/* ---- Arranging ------------------------------------------------------------------------------ */

static int compare_numbers(double a, double b)
{
    return (a > b) - (a < b);
}

static int compare_dims(const struct chart_point *a, const struct chart_point *b, unsigned mask)
{
    for (int d = 0; d < CHART_N_DIMS; d++) {
        if (!(mask >> d & 1) || a->dim[d] == b->dim[d])
            continue;
        int c = compare_numbers(a->order[d], b->order[d]);
        return c ? c : strcmp(a->dim[d], b->dim[d]);
    }
    return 0;
}

static bool same(const struct chart_point *a, const struct chart_point *b, unsigned mask)
{
    for (int d = 0; d < CHART_N_DIMS; d++) {
        if (mask >> d & 1 && a->dim[d] != b->dim[d])
            return false;
    }
    return true;
}

static int compare_points(const void *pa, const void *pb, void *context)
{
    const struct chart_point *a = pa, *b = pb;
    const struct chart *c = context;
    int order = compare_numbers((double)a->panel, (double)b->panel);
    if (!order)
        order = compare_dims(a, b, c->series_dims);
    if (!order)
        order = compare_dims(a, b, c->x_dims);
    if (!order)
        order = compare_numbers(a->x, b->x);
    if (!order)
        order = compare_numbers(a->start_ns, b->start_ns);
    if (!order)
        order = compare_numbers(a->y, b->y);
    return order ? order : strcmp(a->run_uuid, b->run_uuid);
}

struct ranking {
    unsigned mask;
    bool by_panel;
};

static int compare_ranked(const void *pa, const void *pb, void *context)
{
    const struct chart_point *a = *(struct chart_point *const *)pa;
    const struct chart_point *b = *(struct chart_point *const *)pb;
    const struct ranking *r = context;
    if (r->by_panel && a->panel != b->panel)
        return compare_numbers((double)a->panel, (double)b->panel);
    return compare_dims(a, b, r->mask);
}

/* Numbers the distinct values of the dimensions in their order, within each panel when by_panel,
 * into the member at `offset` of each point. Their number (the most in a panel); 0 without
 * memory. */
static size_t number(struct chart *chart, unsigned mask, bool by_panel, size_t offset)
{
    struct chart_point **sorted = malloc((chart->n + 1) * sizeof *sorted);
    if (!sorted) {
        chart->no_memory = true;
        return 0;
    }
    for (size_t i = 0; i < chart->n; i++)
        sorted[i] = &chart->points[i];
    struct ranking ranking = {mask, by_panel};
    qsort_r(sorted, chart->n, sizeof *sorted, compare_ranked, &ranking);
    size_t rank = 0, most = 0;
    for (size_t i = 0; i < chart->n; i++) {
        if (i == 0 || (by_panel && sorted[i]->panel != sorted[i - 1]->panel))
            rank = 0;
        else
            rank += !same(sorted[i], sorted[i - 1], mask);
        memcpy((char *)sorted[i] + offset, &rank, sizeof rank);
        most = rank + 1 > most ? rank + 1 : most;
    }
    free(sorted);
    return most;
}

/* Fills that the scripts have, and pairs of colour and shape. */
#define N_FILLS 8
#define N_SHAPES 120

#define NUMBER(chart, mask, by_panel, member)                                                      \
    number(chart, mask, by_panel, offsetof(struct chart_point, member))

/* Keeps the panels that compare something, if any does, and of these the CHART_MAX_PANELS of the
 * newest runs. */
static void choose_panels(struct chart *chart, const struct chart_layout *layout)
{
    struct panel {
        bool compares, is_kept;
        double newest_ns;
        size_t n, index;
    } *panels = calloc(chart->n_panels + 1, sizeof *panels);
    chart->n_panels_found = chart->n_panels;
    chart->no_memory |= !panels;
    bool any = false;
    for (size_t i = 0; panels && i < chart->n; i++) {
        struct panel *panel = &panels[chart->points[i].panel];
        panel->compares |= layout->needs_two && chart->points[i].cluster > 0;
        panel->compares |= layout->needs_points && panel->n > 0;
        panel->newest_ns = fmax(panel->newest_ns, chart->points[i].start_ns);
        panel->n++;
        any |= panel->compares;
    }
    size_t n_kept = 0, n = 0;
    for (size_t p = 0; panels && p < chart->n_panels; p++) {
        size_t n_before = 0;
        for (size_t q = 0; q < chart->n_panels; q++) {
            int order = compare_numbers(panels[p].newest_ns, panels[q].newest_ns);
            n_before += (panels[q].compares || !any) && (order < 0 || (order == 0 && q < p));
        }
        chart->n_panels_alone += any && !panels[p].compares;
        panels[p].is_kept = (panels[p].compares || !any) && n_before < CHART_MAX_PANELS;
        panels[p].index = panels[p].is_kept ? n_kept++ : SIZE_MAX;
    }
    for (size_t i = 0; panels && i < chart->n; i++) {
        struct chart_point point = chart->points[i];
        point.panel = panels[point.panel].index;
        if (point.panel != SIZE_MAX)
            chart->points[n++] = point;
    }
    chart->n = n;
    chart->n_panels = n_kept;
    free(panels);
}

/* The place of each point among those of its panel and cluster, in the order of series. */
static void find_slots(struct chart *chart, size_t n_clusters)
{
    size_t *counts = calloc(chart->n_panels * n_clusters + 1, sizeof *counts);
    chart->no_memory |= !counts;
    size_t most = 0;
    for (size_t i = 0; counts && i < chart->n; i++) {
        struct chart_point *p = &chart->points[i];
        p->slot = counts[p->panel * n_clusters + p->cluster]++;
    }
    for (size_t i = 0; counts && i < chart->n; i++) {
        struct chart_point *p = &chart->points[i];
        p->n_slots = counts[p->panel * n_clusters + p->cluster];
        most = p->n_slots * n_clusters > most ? p->n_slots * n_clusters : most;
    }
    free(counts);
    chart->n_columns = most > 10 ? 1 : 2;
}

/* A text of more than this many bytes is cut: its beginning and its end say most. */
#define LONG_NBYTES 36

static bool is_inside_character(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

static size_t common_nbytes(const char *a, const char *b)
{
    size_t n = 0;
    while (a[n] && a[n] == b[n])
        n++;
    return n;
}

/* How much the long texts of a dimension have in common at their beginnings. */
static void find_same(struct chart *chart)
{
    for (int d = 0; d < CHART_N_DIMS; d++) {
        const char *first = NULL;
        chart->same_nbytes[d] = SIZE_MAX;
        for (size_t i = 0; i < chart->n; i++) {
            const char *text = chart->points[i].dim[d];
            if (strlen(text) <= LONG_NBYTES || text == first)
                continue;
            size_t n = first ? common_nbytes(first, text) : SIZE_MAX;
            chart->same_nbytes[d] = n < chart->same_nbytes[d] ? n : chart->same_nbytes[d];
            first = first ? first : text;
        }
    }
}

bool chart_arrange(struct chart *chart, const struct chart_layout *layout, struct rml_error *err)
{
    chart->x_dims = layout->x_dims;
    chart->series_dims = layout->series;
    for (size_t i = 0; i < layout->n_more; i++) {
        unsigned mask = chart->series_dims | 1u << layout->more[i];
        NUMBER(chart, ~(layout->x_dims | layout->ignored | mask), false, panel);
        if (NUMBER(chart, mask, true, series) <= layout->max_series)
            chart->series_dims = mask;
    }
    chart->panel_dims = ~(layout->x_dims | layout->ignored | chart->series_dims);
    chart->n_panels = NUMBER(chart, chart->panel_dims, false, panel);
    NUMBER(chart, chart->x_dims, true, cluster);
    choose_panels(chart, layout);
    /* once more: what was left out leaves gaps */
    size_t n_clusters = NUMBER(chart, chart->x_dims, true, cluster);
    chart->n_series = NUMBER(chart, chart->series_dims, false, series);
    /* A series looks the same in all panels, unless looks do not suffice. */
    if (chart->n_series > (layout->are_points ? N_SHAPES : N_FILLS))
        chart->n_series = NUMBER(chart, chart->series_dims, true, series);
    qsort_r(chart->points, chart->n, sizeof *chart->points, compare_points, chart);
    find_slots(chart, n_clusters);
    for (size_t i = 1; i < chart->n; i++) {
        for (int d = 0; d < CHART_N_DIMS; d++)
            chart->differing |= (unsigned)(chart->points[i].dim[d] != chart->points[0].dim[d]) << d;
    }
    find_same(chart);
    return !chart->no_memory ||
           rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the data of a chart");
}

/* Cut in the middle, or, where that would cut what tells it from others, before and behind that. */
static size_t put_cut(char *out, size_t nbytes, const char *text, size_t same_nbytes)
{
    size_t n = strlen(text), head = LONG_NBYTES / 2 - 2, tail = n - (LONG_NBYTES / 2 - 1), end = n;
    if (same_nbytes > head && same_nbytes < tail) {
        head = LONG_NBYTES / 4 - 2;
        tail = same_nbytes - 1; /* with the character before, mostly a separator */
        end = tail + LONG_NBYTES - head - 6;
        end = end < n ? end : n;
    }
    while (head > 0 && is_inside_character(text[head]))
        head--;
    while (is_inside_character(text[tail]))
        tail++;
    while (end < n && is_inside_character(text[end]))
        end++;
    return (size_t)snprintf(out, nbytes, "%.*s...%.*s%s", (int)head, text, (int)(end - tail),
                            text + tail, end < n ? "..." : "");
}

void chart_name(const struct chart *chart, const struct chart_point *point, unsigned mask,
                const char *separator, char *name, size_t nbytes)
{
    size_t used = 0;
    name[0] = 0;
    for (int d = 0; d < CHART_N_DIMS; d++) {
        const char *text = point->dim[d];
        size_t n = strlen(text);
        if (!(mask >> d & 1) || n == 0 || used >= nbytes)
            continue;
        if (used > 0)
            used += (size_t)snprintf(name + used, nbytes - used, "%s", separator);
        if (used >= nbytes)
            break;
        used += n > LONG_NBYTES ? put_cut(name + used, nbytes - used, text, chart->same_nbytes[d])
                                : (size_t)snprintf(name + used, nbytes - used, "%s", text);
    }
}
