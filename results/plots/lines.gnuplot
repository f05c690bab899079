# Lines with intervals over a number: one line for each series.
#
#     gnuplot -c lines.gnuplot DATA OUTPUT
#
# DATA and OUTPUT: see style.gnuplot, which lies beside this file.

call ARG0[1:strlen(ARG0) - strlen("lines.gnuplot")]."style.gnuplot" ARG1 ARG2 230

at(x) = log_x ? (x > 0 ? x : zero) : x
note(marks) = (int(marks) & 1 ? "*" : "").(int(marks) & 2 ? "wrong" : "")

do for [i = 1:n_panels] {
    eval look_at
    stats data index i using 8 name "HI" nooutput
    lowest = 0; highest = 0; has_zero = 0
    stats data index i using ($4 > 0 ? (lowest = lowest == 0 || $4 < lowest ? $4 : lowest, \
        highest = $4 > highest ? $4 : highest) : (has_zero = 1)) name "S" nooutput
    if (lowest == 0) { lowest = 1; highest = 1 }
    # A logarithmic axis has no zero: it gets a place left of the others.
    zero = lowest / 4.0
    if (log_x) { set logscale x 2 }
    pad = highest > lowest ? (highest - lowest) * 0.07 : 1
    if (log_x) { set xrange [(has_zero ? zero : lowest) / 1.4:highest * 1.4] } \
    else { set xrange [(has_zero ? 0 : lowest) - pad:highest + pad] }
    set yrange [0:HI_max * 1.05 / (1 - key_room)]
    # The key goes where the lines are lower.
    stats data index i using 13 name "RANK" nooutput
    left = 0; right = 0
    stats data index i using (2 * $13 < RANK_max ? (left = $8 > left ? $8 : left) \
                                                 : (right = $8 > right ? $8 : right), 0) name "S" nooutput
    if (keyed && left < right) { set key left Left reverse } else { set key right Right noreverse }
    if (!keyed) { unset key }
    set format y number_format(HI_max)
    set xtics ()

    plot for [k = 1:n_here] data index i \
             using ($2 == series[k] ? at($4) : NaN):6:7:8 \
             with yerrorlines lt line_col(series[k]) dt dt(series[k]) lw 1.5 pt pt(series[k]) ps 0.8 \
             title keyed ? series_name[series[k] + 1] : "", \
         data index i using (at($4)):(0):xtic(5) with points pointtype -1 notitle, \
         data index i using (at($4)):6:(note($9)) with labels left offset 0.7, 0.5 font small notitle
    unset label
}
unset multiplot
