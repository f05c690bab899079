# Every sample as a point, a strip for each case: its box spans the quartiles, its line is the
# median.
#
#     gnuplot -c samples.gnuplot DATA OUTPUT
#
# DATA and OUTPUT: see style.gnuplot, which lies beside this file. x is the deviation from the
# median in percent, lo and hi are quartiles, 5 names the case, 10 is the median, 16 and 17 are the
# ends of the axis: a sample beyond is a ">" at its end.

stats ARG1 index 1 using 13 name "STRIPS" nooutput
call ARG0[1:strlen(ARG0) - strlen("samples.gnuplot")]."style.gnuplot" ARG1 ARG2 (40 + 30 * (STRIPS_max + 1))

i = 1 # the only panel
eval look_at
stats data index 1 using (x_min = $16, x_max = $17, 0) name "S" nooutput
set xrange [x_min:x_max]
set yrange [-STRIPS_max - 0.6:0.8]
unset ytics
set border 1
unset ylabel
set title ""
if (!text) { set grid noytics xtics lt 1 lc rgb "#dddddd" lw 1 }
unset key
# Points of a strip are spread by the golden ratio, which is even for any number of them.
frac(x) = x - floor(x)
# The middle, where checkpoints are, says least.
short(name) = strlen(name) > 108 ? name[1:44]."...".name[strlen(name) - 60:*] : name
plot data index 1 using ($14 == 0 ? 0.5 * ($7 + $8) : NaN):(-$13 - 0.1):7:8:(-$13 - 0.3):(-$13 + 0.1) \
         with boxxyerror lc rgb "#888888" fs solid 0.35 noborder notitle, \
     data index 1 using 4:(-$13 - 0.3 + 0.4 * frac($14 * 0.618034)) \
         with points lt 6 pt 7 ps 0.35 notitle, \
     data index 1 using (x_max):(-$13 - 0.1):($4 > x_max ? ">" : "") \
         with labels right offset -0.2, 0 font small notitle, \
     data index 1 using ($14 == 0 ? 0 : NaN):(-$13 - 0.3):(0):(0.4) \
         with vectors nohead lt -1 lw 2 notitle, \
     data index 1 using ($14 == 0 ? x_min : NaN):(-$13 + 0.32):(strcol(10)."  ".short(strcol(5))) \
         with labels left font small notitle
unset multiplot
