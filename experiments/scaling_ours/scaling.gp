# gnuplot scaling.gp, where scaling.csv is. Upper row: nodes of CPUs; lower row: GPUs. Lines and bars predicted, points measured.
set datafile separator ','
set border 3 lc rgb '#555555'
set tics nomirror
set grid ytics lt 1 lc rgb '#e4e4e4' lw 1
colours = '#888888 #4477aa #ee6677 #228833'
machines = 'cpu gpu'
models = "'gpt2-mini, fp32, 2-core nodes' 'GPT-3 1.3B, bf16, dgx-a100-80g'"
units = "'a node (2 ranks)' 'a GPU'"
bars = "'2 16 128 1024' '8 32 128 1024'"
line_of(k, s) = stringcolumn('machine') eq machine && stringcolumn('scaling') eq k && column('zero_stage') == s
first(k) = stringcolumn('machine') eq machine && stringcolumn('scaling') eq k && column('bar_x') == column('bar_x')
unit(x) = x / (column('ranks') > per ? column('ranks') / per : 1)
weak = "set title word(models, row) . ': weak scaling' font ',13'; unset logscale; set logscale x 2; set format y '%.1s%c'; " . \
  "set xrange [0.8:*]; set yrange [0:*]; set xtics (1, 4, 16, 64, 256, 1024); set xlabel 'ranks'; set ylabel 'tokens/s ' . word(units, row) offset 0.5,0; " . \
  "set key inside left bottom vertical reverse Left samplen 2 maxrows 5 spacing 1.1; " . \
  "plot for [s = 0:3] 'scaling.csv' using (line_of('weak', s) ? column('ranks') : NaN):(column('predicted_tokens_per_s_and_unit')) with linespoints pt 7 ps 0.5 lw 2 lc rgb word(colours, s + 1) title sprintf('ZeRO-%d', s), " . \
  "for [s = 0:3] '' using (line_of('weak', s) ? column('ranks') : NaN):(unit(column('measured_tokens_per_s'))) with points pt 2 ps 1.5 lw 2 lc rgb word(colours, s + 1) title s == 0 && row == 1 ? 'measured' : ''"
strong = "set title 'strong scaling' font ',13'; unset logscale; set logscale x 2; set logscale y; set format y '%.0s%c'; " . \
  "set xrange [0.8:*]; set yrange [*:*]; set xtics (1, 4, 16, 64, 256, 1024); set xlabel 'ranks'; set ylabel 'tokens/s of all' offset 0.5,0; " . \
  "set key inside right bottom vertical reverse Left samplen 2 maxrows 5 spacing 1.1; stats 'scaling.csv' using (line_of('strong', 0) && column('ranks') == per ? column('predicted_tokens_per_s') : NaN) nooutput; start = STATS_max; " . \
  "plot [1:] start * x / per with lines dt 2 lc rgb '#aaaaaa' title 'ideal', " . \
  "for [s = 0:3] 'scaling.csv' using (line_of('strong', s) ? column('ranks') : NaN):(column('predicted_tokens_per_s')) with linespoints pt 7 ps 0.5 lw 2 lc rgb word(colours, s + 1) title sprintf('ZeRO-%d', s), " . \
  "for [s = 0:3] '' using (line_of('strong', s) ? column('ranks') : NaN):(column('measured_tokens_per_s')) with points pt 2 ps 1.5 lw 2 lc rgb word(colours, s + 1) notitle"
split = "set title 'weak scaling: where a step goes, by ZeRO stage' font ',13'; unset logscale; set format y '%g'; set xrange [-0.8:18.8]; set yrange [0:*]; stats 'scaling.csv' using (first('weak') ? 1e3 * column('predicted_step_s') : NaN) nooutput; set yrange [0:1.3 * STATS_max]; " . \
  "set boxwidth 0.8; set style fill solid 0.9 border rgb 'white'; set xtics ('0' 0); do for [g = 0:3] { do for [s = 0:3] { set xtics add (sprintf('%d', s) 5 * g + s) } }; " . \
  "do for [g = 0:3] { set label (g + 1) word(word(bars, row), g + 1) . ' ranks' at 5 * g + 1.5, graph -0.13 center }; unset xlabel; set ylabel 'ms' offset 0.5,0; " . \
  "set key inside left top vertical reverse Left samplen 1 maxrows 3 spacing 1.1; " . \
  "plot 'scaling.csv' using (first('weak') ? column('bar_x') : NaN):(1e3 * column('predicted_step_s')) with boxes lc rgb '#dddddd' title 'idle', " . \
  "'' using (first('weak') ? column('bar_x') : NaN):(1e3 * (column('predicted_compute_s') + column('predicted_exposed_communication_s'))) with boxes lc rgb '#ee6677' title 'exposed communication', " . \
  "'' using (first('weak') ? column('bar_x') : NaN):(1e3 * column('predicted_compute_s')) with boxes lc rgb '#4477aa' title row == 1 ? 'compute, slowed by transfers on the same cores' : 'compute'; " . \
  "do for [g = 1:4] { unset label g }"
do for [terminal in 'svg pngcairo'] {
  eval sprintf("set terminal %s size 1560,860 font 'Helvetica,12' background rgb 'white'", terminal)
  set output terminal eq 'svg' ? 'scaling.svg' : 'scaling.png'
  set multiplot layout 2,3 margins 0.05,0.99,0.08,0.95 spacing 0.055,0.13
  do for [row = 1:2] {
    machine = word(machines, row)
    per = row == 1 ? 2 : 1
    eval weak
    eval strong
    eval split
  }
  unset multiplot
}
