# Ratios of a comparison: candidate against base with interval, the gate as a band.
#
#     gnuplot -c ratios.gnuplot DATA OUTPUT
#
# DATA and OUTPUT: see style.gnuplot, which lies beside this file. x is how much slower the
# candidate is in percent, lo and hi its interval, y the gate in percent, 5 names the case, 10 is
# the verdict.

stats ARG1 index 1 using 13 name "STRIPS" nooutput
call ARG0[1:strlen(ARG0) - strlen("ratios.gnuplot")]."style.gnuplot" ARG1 ARG2 (40 + 34 * (STRIPS_max + 1))

i = 1 # the only panel
eval look_at
stats data index 1 using 7 name "LO" nooutput
stats data index 1 using 8 name "HI" nooutput
gate = 0
stats data index 1 using (gate = $6 > gate ? $6 : gate, 0) name "S" nooutput
# Shape and fill say the verdict again: hollow where nothing was found.
bad(verdict) = verdict eq "regression" || verdict eq "fails"
n_bad = 0; n_good = 0
stats data index 1 using (bad(strcol(10)) ? (n_bad = n_bad + 1) : (n_good = n_good + 1)) name "S" nooutput
low = LO_min < -gate ? LO_min : -gate
high = HI_max > gate ? HI_max : gate
pad = (high - low) * 0.05 + 0.1
set xrange [low - pad:high + 5 * pad]
set yrange [-STRIPS_max - 0.6:0.9]
unset ytics
set border 1
unset ylabel
set title ""
if (!text) { set grid noytics xtics lt 1 lc rgb "#dddddd" lw 1 }
unset key
if (gate > 0 && !text) {
    set object 1 rectangle from -gate, graph 0 to gate, graph 1 fc rgb "#cccccc" fs solid 0.5 noborder behind
}
set arrow 1 from 0, graph 0 to 0, graph 1 nohead lt -1 lw 1
short(name) = strlen(name) > 110 ? name[1:107]."..." : name
# (A plot without points is none: then outside of the range.)
plot data index 1 using (bad(strcol(10)) ? (n_good ? NaN : 2 * high + 99) : $4):(-$13 - 0.15):7:8 \
         with xerrorbars lt 6 pt 6 ps 1.1 lw 1.5 notitle, \
     data index 1 using (bad(strcol(10)) ? $4 : (n_bad ? NaN : 2 * high + 99)):(-$13 - 0.15):7:8 \
         with xerrorbars lt 7 pt 5 ps 1.1 lw 1.5 notitle, \
     data index 1 using (low - pad / 2):(-$13 + 0.3):(short(strcol(5))) with labels left font small notitle, \
     data index 1 using 8:(-$13 - 0.15):(sprintf("%+.1f %%  %s", $4, strcol(10))) \
         with labels left offset 1, 0 font small notitle
unset multiplot
