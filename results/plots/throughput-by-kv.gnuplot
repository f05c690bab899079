# Tokens per second by cache type: one panel for each piece of work.
#
#     gnuplot -c throughput-by-kv.gnuplot DATA OUTPUT svg|png|txt PANELS TITLE SUBTITLE
#
# DATA is what `rml-results plot throughput-by-kv --data FILE` leaves: a block of rows for
# each panel, two blank lines between them, with the columns
#     1 panel  2 kv  3 cluster  4 threads  5 series  6 n_series  7 tokens/s  8 lo  9 hi  10 label

data = ARG1
panels = int(ARG4)
text = (ARG3 eq "txt")
columns = (panels == 1 || text) ? 1 : 2
rows = (panels + columns - 1) / columns

# Sizes in pixels; margins and distances are set as fractions of them, so that titles and
# tic labels keep their room whatever the number of rows.
width = 800.0
height = 75.0 + 290 * rows

if (ARG3 eq "svg") {
    set terminal svg size width, height noenhanced font "sans-serif,11" background "white"
    label_font = ",10"
} else { if (ARG3 eq "png") {
    set terminal pngcairo size width, height noenhanced font "Sans,9" background "white"
    label_font = ",8"
} else {
    set terminal dumb strlen(ARG6) > 98 ? strlen(ARG6) + 2 : 100, 3 + 20 * rows noenhanced
    label_font = ""
} }
set encoding utf8
set output ARG2

# Colour-blind safe, and of falling darkness, so that a grey print still tells them apart.
set colorsequence podo
array color[4] = [6, 2, 5, 1]
set style fill solid 0.85 border lt -1
set bars 0.6
set border 3
set tics nomirror out scale 0.5
set xtics scale 0

if (text) {
    set label 2 ARG6 at screen 0.5, screen 1 - 1.5 / (3 + 20 * rows) center
    set multiplot layout rows, columns title ARG5."\n "
} else {
    set grid ytics lt 1 lc rgb "#dddddd" lw 1
    set label 1 ARG5 at screen 0.5, screen 1 - 16 / height center font ",13"
    set label 2 ARG6 at screen 0.5, screen 1 - 38 / height center font label_font
    set multiplot layout rows, columns \
        margins screen 70 / width, 1 - 15 / width, 60 / height, 1 - 82 / height \
        spacing screen 75 / width, 80 / height
}

do for [i = 0:panels-1] {
    panel = ""
    set autoscale # stats looks at what is inside the ranges only
    stats data index i using (panel = strcol(1), $9) name "HI" nooutput
    stats data index i using 3 name "CLUSTER" nooutput
    stats data index i using 6 name "SERIES" nooutput
    n_series = int(SERIES_max)
    n_bars = n_series * (int(CLUSTER_max) + 1)
    array threads[n_series]
    stats data index i using (threads[int($5) + 1] = $4, $5) name "UNUSED" nooutput
    bar = 0.8 / n_series
    x(cluster, series) = cluster + (series - (n_series - 1) / 2.0) * bar

    turn = n_bars > 10 && !text # labels stand upright where bars are narrow

    count(n) = sprintf(n == 1 ? "%d thread" : "%d threads", n)
    set title panel.(n_series == 1 ? ", ".count(threads[1]) : "")
    edge = CLUSTER_max < 2 ? 1.1 : 0.6 # a lone bar does not fill the panel
    set xrange [-edge:CLUSTER_max + edge]
    set yrange [0:HI_max * (1.15 + (turn ? 0.3 : 0) + (n_series > 1 ? 0.15 : 0) * ((n_series + 1) / 2))]
    set xlabel "cache type (keys:values)"
    set ylabel "tokens/s"
    set format y HI_max < 20000 ? "%g" : HI_max < 1e6 ? "%.0s%c" : "%.1s%c"
    set xtics ()
    if (n_series > 1) { set key top right horizontal samplen 1.5 } else { unset key }

    plot for [s = 0:n_series-1] data index i \
             using ($5 == s ? x($3, s) : NaN):7:8:9:(bar * 0.9) \
             with boxerrorbars lt color[s % 4 + 1] \
             title count(threads[s + 1]), \
         data index i using 3:(0):xtic(2) with points pointtype -1 notitle, \
         data index i using (x($3, $5)):9:10:(turn ? 90 : 0) \
             with labels center rotate variable offset 0, (turn ? 1.9 : 0.6) font label_font notitle
    unset label 1
    unset label 2
}
unset multiplot
