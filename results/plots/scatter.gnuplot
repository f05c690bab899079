# Labelled points with intervals of y.
#
#     gnuplot -c scatter.gnuplot DATA OUTPUT
#
# DATA and OUTPUT: see style.gnuplot, which lies beside this file. Further columns of DATA:
#     16 .. 19 ranges of x and of y, within which labels have found their places
#     20, 21 is x, is y logarithmic
# "k" among the axes: a label found no place, and a key under each panel names the series.

call ARG0[1:strlen(ARG0) - strlen("scatter.gnuplot")]."style.gnuplot" ARG1 ARG2 230

if (!text) { set grid xtics ytics lt 1 lc rgb "#dddddd" lw 1 }

do for [i = 1:n_panels] {
    eval look_at
    stats data index i using (x_min = $16, x_max = $17, y_min = $18, y_max = $19, \
        log_x = int($20), log_y = int($21), 0) name "S" nooutput
    n_labels = 0
    stats data index i using (n_labels = n_labels + (strlen(strcol(10)) > 0)) name "S" nooutput
    # Where no label has a place, they are all empty and are put on the points: gnuplot warns of a plot
    # without any place.
    at_x = n_labels ? 11 : 4
    at_y = n_labels ? 12 : 6
    if (log_x) { set logscale x 10 }
    if (log_y) { set logscale y 10 }
    set xrange [x_min:x_max]
    set yrange [y_min:y_max]
    set format x log_x ? "%g" : number_format(x_max)
    set format y log_y ? "%g" : number_format(y_max)
    unset key
    n_named = n_here
    do for [k = 1:n_here] { named[k] = series[k]; names[k] = series_name[series[k] + 1] }
    eval key_below
    plot for [k = 1:n_here] data index i \
             using ($2 == series[k] ? $4 : NaN):6:7:8 \
             with yerrorbars lt line_col(series[k]) pt pt(series[k]) ps 1 notitle, \
         data index i using at_x:at_y:10 with labels center font small notitle
    unset label
}
unset multiplot
