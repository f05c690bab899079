# Roofline: work by operations per byte, under the measured roofs, both axes logarithmic.
#
#     gnuplot -c roofline.gnuplot DATA OUTPUT
#
# DATA and OUTPUT: see style.gnuplot, which lies beside this file. Further columns of DATA: those
# of scatter.gnuplot; the labels of work are numbers, which the key below the panel has with the names. Rows whose marks (9) have bit 16 are ends of a roof's line.

call ARG0[1:strlen(ARG0) - strlen("roofline.gnuplot")]."style.gnuplot" ARG1 ARG2 380

if (!text) { set grid xtics ytics lt 1 lc rgb "#dddddd" lw 1 }
is_roof(marks) = int(marks) & 16

do for [i = 1:n_panels] {
    eval look_at
    # Series that are roofs, and the others
    array roof[n_series]
    array work[n_series]
    array is_a_roof[n_series]
    do for [s = 1:n_series] { roof[s] = -1; work[s] = -1; is_a_roof[s] = 0 }
    stats data index i using (x_min = $16, x_max = $17, y_min = $18, y_max = $19, \
        is_a_roof[int($2) + 1] = is_roof($9), 0) name "S" nooutput
    n_roofs = 0; n_work = 0
    do for [k = 1:n_here] {
        if (is_a_roof[series[k] + 1]) { n_roofs = n_roofs + 1; roof[n_roofs] = series[k] } \
        else { n_work = n_work + 1; work[n_work] = series[k] }
    }
    n_labels = 0
    stats data index i using (n_labels = n_labels + (strlen(strcol(10)) > 0)) name "S" nooutput
    # Where no label has a place, they are all empty and are put on the points: gnuplot warns of a plot
    # without any place.
    at_x = n_labels ? 11 : 4
    at_y = n_labels ? 12 : 6
    set logscale xy 10
    set xrange [x_min:x_max]
    set yrange [y_min:y_max]
    set format x "%g"
    set format y "%g"
    unset key
    n_named = n_work
    do for [k = 1:n_work] {
        named[k] = work[k]; names[k] = sprintf("%d  %s", k, series_name[work[k] + 1])
    }
    eval key_below
    # (A loop that ends before it begins is still run once: then outside of the range.)
    plot for [k = 1:n_roofs] data index i \
             using ($2 == roof[k] ? $4 : n_roofs ? NaN : x_min / 100):6 \
             with lines lc rgb "black" lw 2 dt k notitle, \
         for [k = 1:n_work] data index i \
             using ($2 == work[k] ? $4 : n_work ? NaN : x_min / 100):6 \
             with points lt line_col(work[k]) pt pt(work[k]) ps 1 notitle, \
         data index i using at_x:at_y:10 with labels center font small notitle
    unset label
}
unset multiplot
