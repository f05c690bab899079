/* Sums in lane order (kernels/kernels.h), in plain C. */
#ifndef RML_KERNELS_REF_LANE_ORDER_H
#define RML_KERNELS_REF_LANE_ORDER_H

#include <math.h>
#include <stddef.h>

static inline float rmli_fold_lanes(const float l[8])
{
    return ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
}

static inline float rmli_dot_lanes(const float *a, const float *b, size_t n)
{
    float lanes[8] = {0};
    for (size_t k = 0; k < n; k++)
        lanes[k % 8] = fmaf(a[k], b[k], lanes[k % 8]);
    return rmli_fold_lanes(lanes);
}

#endif
