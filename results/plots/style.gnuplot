# What all charts have in common: size, colours, title, panels. Called by the other scripts with
# DATA, OUTPUT and the height of a panel.
#
# DATA is what `rml-results plot KIND --data FILE` leaves. Its blocks, with two blank lines
# between them, are: index 0, the title and so on; index 1 .. n_panels, the points, a row each:
#     1 panel  2 series  3 its name  4 x  5 its name  6 y  7 lo  8 hi
#     9 marks: 1 time not steady, 2 wrong results, 4 program built from changed sources
#    10 label  11 its x  12 its y  13 rank of x  14 place among the points of that rank
#    15 how many these are
# OUTPUT ends in .svg or .png; anything else is drawn with characters.

data = ARG1
output = ARG2
ending = strlen(output) > 4 ? substr(output, strlen(output) - 3, strlen(output)) : ""
text = ending ne ".svg" && ending ne ".png"

stats data index 0 using (chart_title = strcol(1), line1 = strcol(2), line2 = strcol(3), \
    line3 = strcol(4), x_label = strcol(5), y_label = strcol(6), axes = strcol(7), \
    n_panels = int($8), n_series = int($9), columns = int($10), 0) \
    name "HEAD" nooutput

if (n_panels < 2 || text) { columns = 1 }
rows = (n_panels + columns - 1) / columns

text_lines = 24
small = ""
panel_height = ARG3 + 0

# Per panel: its title, the names of its series, series[1 .. n_here] those that it has, and the part
# of its height that their key takes: what is drawn has to stay below 1 - key_room of it.
array series_name[n_series + 1]
array series[n_series + 1]
array count[n_series + 1]
look_at = "\
    panel = ''; longest = 0; n_here = 0; \
    unset logscale; set autoscale; \
    do for [s = 1:n_series] { count[s] = 0; series[s] = -1 }; \
    stats data index i using (panel = strcol(1), series_name[int($2) + 1] = strcol(3), \
        longest = strlen(strcol(3)) > longest ? strlen(strcol(3)) : longest, \
        count[int($2) + 1] = count[int($2) + 1] + 1) name 'S' nooutput; \
    do for [s = 1:n_series] { if (count[s] > 0) { n_here = n_here + 1; series[n_here] = s - 1 } }; \
    keyed = n_here > 1; \
    key_columns = longest < (columns > 1 ? 18 : 34) ? 2 : 1; \
    key_rows = keyed ? (n_here + key_columns - 1) / key_columns : 0; \
    key_room = !keyed ? 0 : text ? (key_rows + 1.0) / (text_lines - 6) : \
        (16.5 * key_rows + 12) / panel_height; \
    if (key_room > 0.6) { key_room = 0.6 }; \
    if (keyed) { set key top right horizontal maxcols key_columns samplen 2 } else { unset key }; \
    set title panel font small; set xlabel x_label; set ylabel y_label"

# A key below each panel, in as many columns as its names leave room for. By labels: gnuplot drops a
# key that is higher than its panel. named[1 .. n_named] are the series in it, names[1 ..] what they
# are called.
with_key = strstrt(axes, "k") > 0
names_longest = 0; names_most = 0
if (with_key) { do for [i = 1:n_panels] {
    eval look_at
    names_longest = longest > names_longest ? longest : names_longest
    names_most = n_here > names_most ? n_here : names_most
} }
below_columns = columns > 1 ? (names_longest < 24 ? 2 : 1) : \
    names_longest < 34 ? 3 : names_longest < 54 ? 2 : 1
key_lines(n) = with_key && n > 1 ? (n + below_columns - 1) / below_columns : 0
below_height = 14 * key_lines(names_most)
if (text) { text_lines = text_lines + key_lines(names_most) }
array named[n_series + 1]
array names[n_series + 1]
below(k) = (k - 1) % key_lines(n_named)
key_below = "\
    if (text && with_key) { set bmargin key_lines(names_most) + 4 }; \
    do for [k = 1:(with_key && n_named > 1 ? n_named : 0)] { \
        set label 10 + k names[k] \
            at graph 0.01 + ((k - 1) / key_lines(n_named)) / (below_columns + 0.0), \
               graph (text ? 0 : -((x_label eq '' ? 32.0 : 56.0) + 14 * below(k)) / panel_height) \
            left font small point pt pt(named[k]) lt line_col(named[k]) \
            offset character 1.5, character (text ? -3 - below(k) : 0) }"

# In pixels; margins and distances are fractions of these, so that titles and tic labels keep
# their room whatever the number of rows.
n_lines(s) = strstrt(s, "\n") ? 1 + n_lines(s[strstrt(s, "\n") + 1:strlen(s)]) : 1
title_height(i) = 13.5 * (title_lines[i] - 1)
array title_lines[n_panels]
width = 800.0
left = 84
top = 120.0
spacing = 112 + below_height
do for [i = 1:n_panels] {
    title_lines[i] = 1
    stats data index i using (title_lines[i] = n_lines(strcol(1)), 0) name "S" nooutput
    if (i <= columns && 120 + title_height(i) > top) { top = 120 + title_height(i) }
    if (98 + title_height(i) + below_height > spacing) { spacing = 98 + title_height(i) + below_height }
}
height = top + (panel_height + spacing) * rows - spacing + 50 + below_height

if (ending eq ".svg") {
    set terminal svg size width, height noenhanced font "sans-serif,11" background "white"
    small = ",10"
} else { if (ending eq ".png") {
    set terminal pngcairo size width, height noenhanced font "Sans,9" background "white"
    small = ",8"
} else {
    longest(n, s) = strlen(s) + 2 > n ? strlen(s) + 2 : n
    n_chars = longest(longest(longest(110, line1), line2), line3)
    if (with_key && below_columns == 1 && n_chars < names_longest + 20) { n_chars = names_longest + 20 }
    set terminal dumb n_chars, 5 + text_lines * rows noenhanced
    small = ""
} }
set encoding utf8
set output output

# Colour-blind safe (podo), in an order of falling contrast in grey; point types, dashes and fill
# patterns tell series apart without any colour.
set colorsequence podo
array color[8] = [6, 2, 5, 1, 3, 8, 4, 7]
# Thin lines and small points: podo's yellow would be lost on white, so grey in its place.
set linetype 9 lc rgb "#7f7f7f"
set linetype cycle 9
array line_color[8] = [6, 7, 1, 4, 8, 2, 3, 9]
# Fifteen shapes and eight colours: pairs of them repeat after 120.
array shape[15] = [7, 5, 9, 13, 11, 6, 4, 8, 12, 10, 2, 1, 3, 15, 14]
array dashes[8] = [1, 2, 4, 5, 3, 1, 2, 4]
col(s) = color[int(s) % 8 + 1]
line_col(s) = line_color[int(s) % 8 + 1]
pt(s) = shape[int(s) % 15 + 1]
dt(s) = dashes[int(s) % 8 + 1]
set style fill solid 0.85 border lt -1
set bars 0.6
set border 3
set tics nomirror out scale 0.5
set datafile missing "NaN"
log_x = strstrt(axes, "x") > 0
log_y = strstrt(axes, "y") > 0
number_format(max) = max < 20000 ? "%g" : max < 1e6 ? "%.0s%c" : "%.1s%c"

if (text) {
    screen_y(pixel, line) = 1 - (line - 0.5) / (5 + text_lines * rows)
    set multiplot layout rows, columns title "\n\n\n "
} else {
    screen_y(pixel, line) = 1 - pixel / height
    set grid ytics lt 1 lc rgb "#dddddd" lw 1
    set multiplot layout rows, columns \
        margins screen left / width, 1 - 15 / width, (55 + below_height) / height, 1 - (top - 5) / height \
        spacing screen left / width, spacing / height
}
set label 1 chart_title at screen 0.5, screen screen_y(16, 1) center font (text ? "" : ",13")
set label 2 line1 at screen 0.5, screen screen_y(36, 2) center font small
set label 3 line2 at screen 0.5, screen screen_y(51, 3) center font small
set label 4 line3 at screen 0.5, screen screen_y(66, 4) center font small
