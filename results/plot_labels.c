/*
 * Labels beside points that overlap neither each other nor a point and are nearest to their own:
 * each takes the first such one of eight places around its point, the upper right first. Geometry is in pixels of the panel;
 * text is taken to be as wide as the fonts of the scripts at most are.
 */
#include "results/plot_chart.h"

#include <math.h>
#include <string.h>

#define CHAR_WIDTH 6.3
#define LINE_HEIGHT 13.0
#define POINT_RADIUS 5.0
/* By how much a label is nearer to its own point than to any other. */
#define NEARER 1.0

struct box {
    double x0, y0, x1, y1;
};

static bool overlap(struct box a, struct box b)
{
    return a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1;
}

struct scale {
    double min, max, pixels;
    bool log;
};

static double to_pixel(const struct scale *s, double v)
{
    return s->log ? log(v / s->min) / log(s->max / s->min) * s->pixels
                  : (v - s->min) / (s->max - s->min) * s->pixels;
}

static double from_pixel(const struct scale *s, double pixel)
{
    return s->log ? s->min * pow(s->max / s->min, pixel / s->pixels)
                  : s->min + pixel / s->pixels * (s->max - s->min);
}

static struct box label_box(const struct scale *x, const struct scale *y,
                            const struct chart_point *p, const char *text)
{
    double cx = to_pixel(x, p->label_x), cy = to_pixel(y, p->label_y);
    double w = CHAR_WIDTH * (double)strlen(text) / 2, h = LINE_HEIGHT / 2;
    return (struct box){cx - w, cy - h, cx + w, cy + h};
}

/* Of a point from the nearest part of a label. */
static double distance(struct box box, double x, double y)
{
    return hypot(fmax(0, fmax(box.x0 - x, x - box.x1)), fmax(0, fmax(box.y0 - y, y - box.y1)));
}

static bool is_free(const struct chart *chart, size_t i, const struct scale *x,
                    const struct scale *y, bool over_bars)
{
    const struct chart_point *p = &chart->points[i];
    struct box box = label_box(x, y, p, p->label);
    if (box.x0 < 0 || box.x1 > x->pixels || box.y0 < 0 || box.y1 > y->pixels)
        return false;
    double own = distance(box, to_pixel(x, p->x), to_pixel(y, p->y));
    for (size_t k = 0; k < chart->n; k++) {
        const struct chart_point *q = &chart->points[k];
        if (q->panel != p->panel)
            continue;
        double qx = to_pixel(x, q->x), qy = to_pixel(y, q->y);
        struct box point = {qx - POINT_RADIUS, qy - POINT_RADIUS, qx + POINT_RADIUS,
                            qy + POINT_RADIUS};
        struct box bar = {qx - 1, to_pixel(y, q->lo), qx + 1, to_pixel(y, q->hi)};
        bool is_other = k != i && !((p->marks | q->marks) & MARK_ROOF);
        /* (A roof has to be named, if over a point.) */
        if ((overlap(box, point) && !(p->marks & MARK_ROOF)) ||
            (is_other && distance(box, qx, qy) < own + NEARER) ||
            (!over_bars && overlap(box, bar)) || /* false for NaN */
            (k != i && q->label && !isnan(q->label_x) &&
             overlap(box, label_box(x, y, q, q->label))))
            return false;
    }
    return true;
}

/* A range around the values of a panel. */
static struct scale scale_of(const struct chart *chart, size_t panel, size_t offset,
                             enum chart_axis axis, double pixels)
{
    struct scale s = {INFINITY, -INFINITY, pixels, false};
    for (size_t i = 0; i < chart->n; i++) {
        const struct chart_point *p = &chart->points[i];
        double v;
        memcpy(&v, (const char *)p + offset, sizeof v);
        if (p->panel != panel)
            continue;
        bool is_y = offset == offsetof(struct chart_point, y);
        s.min = fmin(fmin(s.min, v), is_y && p->lo > 0 ? p->lo : v);
        s.max = fmax(fmax(s.max, v), is_y && p->hi > 0 ? p->hi : v);
    }
    s.log = s.min > 0 && (axis == AXIS_LOG || (axis == AXIS_AUTO && s.max > 20 * s.min));
    double margin = s.max > s.min ? (s.max - s.min) / 6 : fmax(fabs(s.max) / 6, 1e-9);
    if (s.log) {
        double factor = pow(s.max / s.min, 0.1);
        factor = fmax(factor, 1.6);
        s.min /= factor;
        s.max *= factor;
    } else {
        s.min = axis == AXIS_ZERO ? 0 : s.min - margin;
        s.max = axis == AXIS_ZERO ? fmax(1.2 * s.max, 1e-9) : s.max + margin;
    }
    return s;
}

/* Over the bar of an interval only where no other place is free. */
static void place(struct chart *chart, size_t i, const struct scale *x, const struct scale *y)
{
    static const double places[][2] = {{1, 1},  {1, 0},   {1, -1}, {-1, 1},
                                       {-1, 0}, {-1, -1}, {0, 1},  {0, -1}};
    struct chart_point *p = &chart->points[i];
    /* A pixel more than touches: what is computed back from values is not the same to the bit. */
    double gap = POINT_RADIUS + 1, dx = gap + CHAR_WIDTH * (double)strlen(p->label) / 2;
    const size_t n_places = sizeof places / sizeof places[0];
    for (size_t n = 0; n < 2 * n_places; n++) {
        size_t k = n % n_places;
        double dy = places[k][0] == 0 ? gap + LINE_HEIGHT / 2 : LINE_HEIGHT / 2 + 3;
        p->label_x = from_pixel(x, to_pixel(x, p->x) + places[k][0] * dx);
        p->label_y = from_pixel(y, to_pixel(y, p->y) + places[k][1] * dy);
        if (is_free(chart, i, x, y, n >= n_places))
            return;
    }
    p->label = NULL;
    p->label_x = p->label_y = NAN;
}

void chart_place_labels(struct chart *chart, enum chart_axis x_axis, enum chart_axis y_axis,
                        double width, double height)
{
    for (size_t panel = 0; panel < chart->n_panels; panel++) {
        struct scale x = scale_of(chart, panel, offsetof(struct chart_point, x), x_axis, width);
        struct scale y = scale_of(chart, panel, offsetof(struct chart_point, y), y_axis, height);
        chart->ranges[panel] = (struct chart_range){x.min, x.max, y.min, y.max, x.log, y.log};
        for (int roofs = 1; roofs >= 0; roofs--) { /* these first: nothing else names them */
            for (size_t i = 0; i < chart->n; i++) {
                const struct chart_point *p = &chart->points[i];
                if (p->panel == panel && p->label && roofs == !!(p->marks & MARK_ROOF))
                    place(chart, i, &x, &y);
            }
        }
    }
}
