/*
 * What a chart shows, before it is drawn: points, each with the dimensions (model, weight type,
 * cache type, threads ...) of the case it comes from.
 *
 * A kind of chart says which dimensions lie along x, which tell series apart, and all others make
 * panels: so two points that differ in anything are never joined or set side by side as if they
 * were alike. Names hold only what differs; what is the same for all points is said once, under
 * the title.
 */
#ifndef RESULTS_PLOT_CHART_H
#define RESULTS_PLOT_CHART_H

#include <stdio.h>

#include "results/store.h"

enum chart_dim {
    DIM_ENGINE,
    DIM_CASE,     /* suite and name */
    DIM_PROTOCOL, /* of an evaluation, as its context, its text and what it is held against */
    DIM_CONTEXT,
    DIM_TEXT,
    DIM_BASE,
    DIM_MODEL,
    DIM_WEIGHTS,
    DIM_ARITHMETIC,
    DIM_KV,
    DIM_PROMPT,
    DIM_GEN,
    DIM_DEPTH,
    DIM_BATCH,
    DIM_THREADS,
    DIM_ISA,
    DIM_ARM,
    DIM_WORK, /* version of the work, parameters */
    DIM_HOST,
    DIM_BUILD,
    CHART_N_DIMS
};
#define DIM(name) (1u << DIM_##name)

/* ROOF: an end of a line, not a point. */
enum { MARK_UNSTABLE = 1, MARK_WRONG = 2, MARK_DIRTY = 4, MARK_ROOF = 16 };

struct chart_point {
    const char
        *dim[CHART_N_DIMS];     /* as it is said; "" does not apply; equal texts, equal pointers */
    double order[CHART_N_DIMS]; /* by which it is sorted, then by the text */
    double x, y, lo, hi;        /* NaN: not known */
    unsigned marks;             /* MARK_* */
    const char *label;          /* NULL: none */
    int64_t n;                  /* samples behind it; 0 not known */
    double coverage;            /* of lo .. hi; NaN not known */
    const char *run_uuid, *machine, *program;
    const char *file, *family; /* of the checkpoint: its name; architecture and size */
    double start_ns;

    /* Set by chart_arrange. cluster: rank of the x name in the panel; slot: of the point among the
     * n_slots of its cluster. */
    size_t panel, series, cluster, slot, n_slots;
    double label_x, label_y; /* set by chart_place_labels */
};

#define CHART_MAX_PANELS 8

/* AUTO: logarithmic when values differ by more than a factor of 20, else around them. */
enum chart_axis { AXIS_ZERO, AXIS_LOG, AXIS_AUTO };

struct chart_range {
    double x_min, x_max, y_min, y_max;
    bool log_x, log_y;
};

struct chart {
    struct chart_point *points;
    size_t n, n_room;
    struct chart_texts *texts;
    size_t n_panels, n_series, n_columns;
    size_t n_panels_found; /* before some were left out */
    size_t n_panels_alone; /* of these: have nothing to compare */
    unsigned x_dims, series_dims, panel_dims;
    unsigned differing;               /* dimensions that are not the same for all points */
    size_t same_nbytes[CHART_N_DIMS]; /* at the beginning of all long texts of a dimension */
    bool no_memory;

    /* What the script is told; set by the kind before chart_write, the subtitle added to. */
    const char *title, *x_label, *y_label;
    const char *note;                            /* one more line under the title, NULL: none */
    const char *x_separator;                     /* between the parts of an x name */
    char axes[8];                                /* "x": that one is logarithmic; "k": with a key */
    struct chart_range ranges[CHART_MAX_PANELS]; /* set by chart_place_labels */
};

void chart_init(struct chart *chart);
void chart_release(struct chart *chart);

/* The one copy of a text; NULL is "". */
const char *chart_text(struct chart *chart, const char *text);
const char *chart_format(struct chart *chart, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A new point, all of it "not known"; NULL (and chart->no_memory) without memory. */
struct chart_point *chart_add(struct chart *chart);

/* Which dimensions lie where; of `series` as many, in that order, as leave at most max_series. */
struct chart_layout {
    unsigned x_dims;
    unsigned ignored;       /* make no panel of their own */
    unsigned series;        /* always tell series apart */
    enum chart_dim more[8]; /* and these while there are not too many */
    size_t n_more, max_series;
    bool needs_two;    /* a panel with one x only shows nothing, unless none has more */
    bool needs_points; /* the same of a panel with one point */
    bool are_points;   /* drawn by shape and colour, not by fill */
};

/* Sorts the points by panel, series and x, and numbers these. Of too many panels those with
 * the newest runs are kept. */
bool chart_arrange(struct chart *chart, const struct chart_layout *layout, struct rml_error *err);

/* The texts of the point's dimensions in `mask`, long ones cut where the chart's are the same, joined by
 * `separator`. For a chart that is arranged. */
void chart_name(const struct chart *chart, const struct chart_point *point, unsigned mask,
                const char *separator, char *name, size_t nbytes);

/* For each panel, of that many pixels: sets ranges around its points and a place for each label
 * that overlaps nothing; a label without a place is dropped. */
void chart_place_labels(struct chart *chart, enum chart_axis x, enum chart_axis y, double width,
                        double height);

/* The data file. `sql`: what made it. */
void chart_write(const struct chart *chart, const char *kind, const char *sql, FILE *data);

#endif
