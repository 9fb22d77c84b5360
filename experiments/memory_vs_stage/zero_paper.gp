# gnuplot zero_paper.gp, where zero_paper.csv is. Left: the paper's Figure 1 beside the program; right: over devices.
set datafile separator ','
set border 3 lc rgb '#555555'
set tics nomirror
set grid ytics lt 1 lc rgb '#e4e4e4' lw 1
names = 'parameter gradient optimizer activation communication'
labels = "'parameters' 'gradients' 'optimizer state' 'activations' 'buckets, gathered'"
colours = '#4477aa #66ccee #228833 #ccbb44 #ee6677'
stage_colours = '#888888 #4477aa #ee6677 #228833'
is64(x) = column('devices') == 64 ? x : NaN
# of model states alone (upto 3) or of the whole peak (upto 5): bars are drawn from the top of the pile down
states(k) = (sum [j = 1:k] column('program_' . word(names, j) . '_GB'))
peak(k) = (sum [j = 1:k] column('peak_' . word(names, j) . '_GB'))
paper(k) = (s = column('zero_stage'), n = column('devices'), p = 7.5, \
  a = 2 * p / (s > 2 ? n : 1), b = 2 * p / (s > 1 ? n : 1), c = 12 * p / (s > 0 ? n : 1), k == 1 ? a : k == 2 ? a + b : a + b + c)
left_panel = "set title 'Model states and peak, 64 devices' font ',14'; set ylabel 'GB (10^9 bytes) a device'; unset logscale; " . \
  "set xrange [-0.6:3.6]; set yrange [0:152]; set xtics ('none' 0, 'P_{os}' 1, 'P_{os+g}' 2, 'P_{os+g+p}' 3); " . \
  "set xlabel 'each: the paper; the program, model states; the program, peak'; " . \
  "set boxwidth 0.24; set style fill solid 0.9 border rgb 'white'; set key inside right top reverse Left samplen 1 spacing 1.15; " . \
  "plot for [k = 5:1:-1] 'zero_paper.csv' using (is64(column('zero_stage') + 0.27)):(peak(k)) with boxes lc rgb word(colours, k) title word(labels, k), " . \
  "for [k = 3:1:-1] '' using (is64(column('zero_stage'))):(states(k)) with boxes lc rgb word(colours, k) notitle, " . \
  "for [k = 3:1:-1] '' using (is64(column('zero_stage') - 0.27)):(paper(k)) with boxes lc rgb word(colours, k) fs pattern 4 border rgb word(colours, k) notitle, " . \
  "'' using (is64(column('zero_stage') - 0.27)):(paper(3)):(sprintf('%.1f', paper(3))) with labels offset 0,0.6 font ',10' notitle, " . \
  "'' using (is64(column('zero_stage'))):(states(3)):(sprintf('%.1f', states(3))) with labels offset 0,0.6 font ',10' notitle, " . \
  "'' using (is64(column('zero_stage') + 0.27)):(peak(5)):(sprintf('%.1f', column('peak_GB'))) with labels offset 0,0.6 font ',10' notitle"
right_panel = "set title 'Model states over devices: lines the paper, points the program' font ',14'; set ylabel 'GB (10^9 bytes) a device'; set xlabel 'data-parallel devices'; " . \
  "set logscale x 2; set logscale y; set xrange [0.8:1300]; set yrange [0.08:250]; set xtics (1, 4, 16, 64, 256, 1024); " . \
  "set key inside left bottom reverse Left samplen 2 spacing 1.15; f(s, n) = s == 0 ? 120 : s == 1 ? 30 + 90 / n : s == 2 ? 15 + 105 / n : 120 / n; " . \
  "plot for [s = 0:3] f(s, x) with lines lw 2 lc rgb word(stage_colours, s + 1) title sprintf('stage %d', s), " . \
  "for [s = 0:3] 'zero_paper.csv' using (column('zero_stage') == s ? column('devices') : NaN):(column('program_states_GB')) with points pt 7 ps 1 lc rgb word(stage_colours, s + 1) notitle"
set terminal svg size 1300,520 font 'Helvetica,12' background rgb 'white'
set output 'zero_paper.svg'
eval "set multiplot layout 1,2 margins 0.055,0.985,0.14,0.91 spacing 0.07"
eval left_panel
eval right_panel
unset multiplot
set terminal pngcairo size 1300,520 font 'Helvetica,12' background rgb 'white'
set output 'zero_paper.png'
eval "set multiplot layout 1,2 margins 0.055,0.985,0.14,0.91 spacing 0.07"
eval left_panel
eval right_panel
unset multiplot
