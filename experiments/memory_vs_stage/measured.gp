# gnuplot measured.gp, where measured.csv is. One panel a precision; bars are predicted, marks are measured.
set datafile separator ','
set border 3 lc rgb '#555555'
set tics nomirror
set grid ytics lt 1 lc rgb '#e4e4e4' lw 1
names = 'parameter gradient optimizer activation communication workspace fragmentation'
labels = "'parameters' 'gradients' 'optimizer state' 'activations' 'buckets, gathered' 'workspace' 'fragmentation'"
colours = '#4477aa #66ccee #228833 #ccbb44 #ee6677 #aa3377 #bbbbbb'
stats 'measured.csv' using 'panel' nooutput
panels = int(STATS_max) + 1
stats 'measured.csv' using 'predicted_arena_MiB' nooutput
top = 1.16 * STATS_max
stats 'measured.csv' using 'bar_x' nooutput
last = STATS_max
titles = 'fp32 bf16 fp16'
here(x) = column('panel') == panel ? x : NaN
pile(k) = (sum [j = 1:k] column('predicted_' . word(names, j) . '_MiB'))
panel_of = "set title word(titles, panel + 1) font ',14'; set ylabel 'MiB a rank' offset 1,0; set xlabel 'ZeRO stage' offset 0,-1.1; " . \
  "set xrange [-0.8:last + 0.8]; set yrange [0:top]; set boxwidth 0.8; set style fill solid 0.9 border rgb 'white'; " . \
  "set xtics ('any' 0); do for [g = 0:2] { do for [s = 0:3] { set xtics add (sprintf('%d', s) 2.5 + 5 * g + s) } }; " . \
  "unset label; set label 1 '1 rank' at 0, graph -0.13 center; do for [g = 0:2] { if (4 + 5 * g <= last) { " . \
  "set label (g + 2) sprintf('%d ranks', 2 ** (g + 1)) at 4 + 5 * g, graph -0.13 center } }; " . \
  "set key at screen 1 - 255 / width, screen 0.83 left top reverse Left samplen 1 spacing 1.25; if (panel < panels - 1) { unset key }; " . \
  "plot for [k = 7:1:-1] 'measured.csv' using (here(column('bar_x'))):(pile(k)) with boxes lc rgb word(colours, k) title word(labels, k), " . \
  "'' using (here(column('bar_x'))):(column('measured_arena_MiB')) with points pt 1 ps 1.6 lw 2 lc rgb 'black' title 'measured arena', " . \
  "'' using (here(column('bar_x'))):(column('measured_process_MiB')) with points pt 6 ps 1.4 lw 1.6 lc rgb 'black' title 'measured process'"
do for [terminal in 'svg pngcairo'] {
  eval sprintf("set terminal %s size %d,440 font 'Helvetica,12' background rgb 'white'", terminal, 560 * panels + 240)
  set output terminal eq 'svg' ? 'measured.svg' : 'measured.png'
  width = 560.0 * panels + 240
  set multiplot layout 1,panels margins 70 / width, 1 - 262 / width, 0.19, 0.83 spacing 80 / width title 'Peak memory of a rank: bars predicted, marks measured' font ',15'
  do for [panel = 0:panels - 1] { eval panel_of }
  unset multiplot
}
