# Bars with intervals: a cluster for each x, a bar in it for each series.
#
#     gnuplot -c bars.gnuplot DATA OUTPUT
#
# DATA and OUTPUT: see style.gnuplot, which lies beside this file.

call ARG0[1:strlen(ARG0) - strlen("bars.gnuplot")]."style.gnuplot" ARG1 ARG2 210

set xtics scale 0
one_line(s) = strstrt(s, "\n") ? s[1:strstrt(s, "\n") - 1]." ".s[strstrt(s, "\n") + 1:strlen(s)] : s

do for [i = 1:n_panels] {
    eval look_at
    stats data index i using 8 name "HI" nooutput
    stats data index i using 13 name "CLUSTER" nooutput
    stats data index i using 15 name "SLOTS" nooutput
    lines = 1
    stats data index i using (lines = strstrt(strcol(10), "\n") ? 2 : lines, 0) name "S" nooutput

    # right[] and wrong[] list the series that have such bars in this panel.
    array right[n_series]
    array wrong[n_series]
    array n_right_of[n_series]
    array n_wrong_of[n_series]
    do for [s = 1:n_series] { n_right_of[s] = 0; n_wrong_of[s] = 0; right[s] = -1; wrong[s] = -1 }
    stats data index i using (int($9) & 2 ? (n_wrong_of[int($2) + 1] = 1) \
                                          : (n_right_of[int($2) + 1] = 1)) name "S" nooutput
    n_right = 0; n_wrong = 0
    do for [s = 1:n_series] {
        if (n_right_of[s] > 0) { n_right = n_right + 1; right[n_right] = s - 1 }
        if (n_wrong_of[s] > 0) { n_wrong = n_wrong + 1; wrong[n_wrong] = s - 1 }
    }
    n_bars = SLOTS_max * (int(CLUSTER_max) + 1)
    bar = 0.8 / SLOTS_max
    x(cluster, slot, slots) = cluster + (slot - (slots - 1) / 2.0) * bar

    turn = n_bars > 18.0 / columns && !text # labels stand upright where bars are narrow
    edge = CLUSTER_max < 2 ? 1.1 : 0.6 # a lone bar does not fill the panel
    set xrange [-edge:CLUSTER_max + edge]
    set yrange [0:HI_max * (1.15 + 0.1 * (lines - 1) + (turn ? 0.2 + 0.15 * lines : 0)) / (1 - key_room)]
    set format y number_format(HI_max)
    set xtics ()

    # (A loop that ends before it begins is still run once: then outside of the range.)
    plot for [k = 1:n_wrong] data index i \
             using ($2 == wrong[k] && int($9) & 2 ? x($13, $14, $15) : n_wrong ? NaN : -99):6:7:8:(bar * 0.9) \
             with boxerrorbars lc rgb "black" dt 3 fs empty notitle, \
         for [k = 1:n_right] data index i \
             using ($2 == right[k] && !(int($9) & 2) ? x($13, $14, $15) : n_right ? NaN : -99):6:7:8:(bar * 0.9) \
             with boxerrorbars lt col(right[k]) fs solid 0.85 border lt -1 \
             title keyed && right[k] >= 0 ? series_name[right[k] + 1] : "", \
         data index i using 13:(0):xtic(5) with points pointtype -1 notitle, \
         data index i using (x($13, $14, $15)):8:(turn ? one_line(strcol(10)) : strcol(10)):(turn ? 90 : 0) \
             with labels center rotate variable offset 0, (turn ? 1.5 + 1.2 * lines : lines == 2 ? 1.5 : 0.6) \
             font small notitle
    unset label
}
unset multiplot
