# Time by run with a ribbon of confidence: a panel for each case and host.
#
#     gnuplot -c history.gnuplot DATA OUTPUT
#
# DATA and OUTPUT: see style.gnuplot, which lies beside this file. x is in seconds since 1970.

call ARG0[1:strlen(ARG0) - strlen("history.gnuplot")]."style.gnuplot" ARG1 ARG2 190

dirty(marks) = int(marks) & 4
do for [i = 1:n_panels] {
    eval look_at
    stats data index i using 4 name "X" nooutput
    stats data index i using 7 name "LO" nooutput
    stats data index i using 8 name "HI" nooutput
    n_dirty = 0; n_clean = 0
    stats data index i using (dirty($9) ? (n_dirty = n_dirty + 1) : (n_clean = n_clean + 1)) name "S" nooutput
    # Not from zero: what is looked for are steps of some percent.
    room = HI_max > LO_min ? (HI_max - LO_min) * 0.25 : HI_max * 0.05
    set yrange [LO_min - room < 0 ? 0 : LO_min - room:HI_max + room]
    span = X_max - X_min
    pad = span > 0 ? span * 0.03 : 43200
    set xrange [X_min - pad:X_max + pad]
    x_format = span > 200000 ? "%Y-%m-%d" : span > 1800 ? "%m-%d %H:%M" : "%m-%d %H:%M:%S"
    # At whole days, minutes or seconds, whichever is the finest that a tick says; at most six of
    # them, each put by hand: gnuplot would round the steps of a time axis, some of them more than
    # others. Below six seconds there is one.
    unit = span > 200000 ? 86400 : span > 1800 ? 60 : 1
    step = ceil(span / 6.0 / unit) * unit
    tick = span >= 6 ? ceil(X_min / real(unit)) * unit : X_min
    set xtics (strftime(x_format, tick) tick)
    while (span >= 6 && tick + step < X_max - span / 12) {
        tick = tick + step
        set xtics add (strftime(x_format, tick) tick)
    }
    set format y "%g"
    if (n_dirty > 0 && n_clean > 0) { set key top right horizontal samplen 1 } else { unset key }
    # A lone run has no ribbon, but an interval.
    plot data index i using 4:7:8 with filledcurves fc rgb "#bbbbbb" fs solid 0.6 noborder notitle, \
         data index i using (n_dirty + n_clean == 1 ? $4 : X_min - 9 * pad):6:7:8 \
             with yerrorbars lt 6 lw 1.5 pt -1 notitle, \
         data index i using 4:6 with lines lt 6 lw 1.5 notitle, \
         data index i using (dirty($9) || n_clean == 0 ? (n_clean ? NaN : X_min - 9 * pad) : $4):6 \
             with points lt 6 pt 7 ps 0.9 notitle, \
         data index i using (dirty($9) ? $4 : n_dirty ? NaN : X_min - 9 * pad):6 \
             with points lt 6 pt 6 ps 0.9 notitle, \
         data index i using (strlen(strcol(10)) ? $4 : n_clean + n_dirty > 0 ? X_min - 9 * pad : NaN):8:(strlen(strcol(10)) ? "v ".strcol(10) : "") \
             with labels left offset -0.3, 0.8 font small notitle
    unset label
}
unset multiplot
