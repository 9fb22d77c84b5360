# experiments/draw.sh experiments/memory_vs_stage/zero_paper.gp FOLDER, where zero_paper.csv is. Above: the paper's Figure 1 beside the program; below: over devices.
load ARG1
is64(x) = column('devices') == 64 ? x : NaN
# of model states alone (upto 3) or of the whole peak (upto 5): bars are drawn from the top of the pile down
states(k) = (sum [j = 1:k] column('program_' . word(categories, j) . '_GB'))
peak(k) = (sum [j = 1:k] column('peak_' . word(categories, j) . '_GB'))
paper(k) = (s = column('zero_stage'), n = column('devices'), p = 7.5, \
  a = 2 * p / (s > 2 ? n : 1), b = 2 * p / (s > 1 ? n : 1), c = 12 * p / (s > 0 ? n : 1), k == 1 ? a : k == 2 ? a + b : a + b + c)
f(s, n) = s == 0 ? 120 : s == 1 ? 30 + 90 / n : s == 2 ? 15 + 105 / n : 120 / n
set ylabel 'GB (10^9 bytes) a device'
do for [t in terminals] {
  eval page(t, 'zero_paper', 900)
  set multiplot layout 2,1 margins 0.085,0.98,0.075,0.955 spacing 0.07,0.135
  set title '7.5 billion parameters, 64 devices: the paper, the states of the program, its peak'
  unset logscale
  set xrange [-0.6:3.6]; set yrange [0:152]
  set xtics ('ZeRO-0' 0, 'ZeRO-1 (P_{os})' 1, 'ZeRO-2 (P_{os+g})' 2, 'ZeRO-3 (P_{os+g+p})' 3)
  unset xlabel
  set boxwidth 0.24
  set key inside right top
  plot for [k = 5:1:-1] 'zero_paper.csv' using (is64(column('zero_stage') + 0.27)):(peak(k)) with boxes lc rgb word(category_colours, k) title word(category_names, k), \
    for [k = 3:1:-1] '' using (is64(column('zero_stage'))):(states(k)) with boxes lc rgb word(category_colours, k) notitle, \
    for [k = 3:1:-1] '' using (is64(column('zero_stage') - 0.27)):(paper(k)) with boxes lc rgb word(category_colours, k) fs pattern 4 border rgb word(category_colours, k) notitle, \
    keyentry with boxes lc rgb grey fs pattern 4 border rgb grey title 'hatched: the paper', \
    '' using (is64(column('zero_stage') - 0.27)):(paper(3)):(sprintf('%.1f', paper(3))) with labels offset 0,0.6 font small notitle, \
    '' using (is64(column('zero_stage'))):(states(3)):(sprintf('%.1f', states(3))) with labels offset 0,0.6 font small notitle, \
    '' using (is64(column('zero_stage') + 0.27)):(peak(5)):(sprintf('%.1f', column('peak_GB'))) with labels offset 0,0.6 font small notitle
  set title 'model states over devices: lines the paper, points the program'
  set xlabel 'data-parallel devices'
  set logscale x 2; set logscale y
  set xrange [0.8:1300]; set yrange [0.08:250]
  set xtics (1, 4, 16, 64, 256, 1024)
  set key inside left bottom
  plot for [s = 0:3] f(s, x) with lines lw 2 lc rgb word(stage_colours, s + 1) title sprintf('ZeRO-%d', s), \
    for [s = 0:3] 'zero_paper.csv' using (column('zero_stage') == s ? column('devices') : NaN):(column('program_states_GB')) with points pt 7 ps 1 lc rgb word(stage_colours, s + 1) notitle
  unset multiplot
}
