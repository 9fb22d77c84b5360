# experiments/draw.sh experiments/scaling_ours/scaling.gp FOLDER, where scaling.csv is. Left: nodes of CPUs; right: GPUs. Lines and bars predicted, crosses measured.
load ARG1
machines = 'cpu gpu'
models = "'gpt2-mini, fp32, 2-core nodes' 'GPT-3 1.3B, bf16, dgx-a100-80g'"
units = "'a node (2 ranks)' 'a GPU'"
bars = "'2 16 128 1024' '8 32 128 1024'"
line_of(k, s) = stringcolumn('machine') eq machine && stringcolumn('scaling') eq k && column('zero_stage') == s
first(k) = stringcolumn('machine') eq machine && stringcolumn('scaling') eq k && column('bar_x') == column('bar_x')
unit(x) = x / (column('ranks') > per ? column('ranks') / per : 1)
weak = "set title word(models, of) . \"\\nweak scaling\"; unset logscale; set logscale x 2; set format y '%.1s%c'; " . \
  "set xrange [0.8:1300]; set yrange [0:*]; set xtics (1, 4, 16, 64, 256, 1024); set xlabel 'ranks'; set ylabel 'tokens/s ' . word(units, of); " . \
  "set key inside left bottom maxrows 5; " . \
  "plot for [s = 0:3] 'scaling.csv' using (line_of('weak', s) ? column('ranks') : NaN):(column('predicted_tokens_per_s_and_unit')) with linespoints pt 7 ps 0.5 lw 2 lc rgb word(stage_colours, s + 1) title sprintf('ZeRO-%d', s), " . \
  "for [s = 0:3] '' using (line_of('weak', s) ? column('ranks') : NaN):(unit(column('measured_tokens_per_s'))) with points pt 2 ps 1.5 lw 2 lc rgb word(stage_colours, s + 1) title s == 0 && of == 1 ? 'measured' : ''"
strong = "set title 'strong scaling'; unset logscale; set logscale x 2; set logscale y; set format y '%.0s%c'; " . \
  "set xrange [0.8:1300]; set yrange [*:*]; set xtics (1, 4, 16, 64, 256, 1024); set xlabel 'ranks'; set ylabel 'tokens/s of all'; " . \
  "set key inside right bottom maxrows 5; stats 'scaling.csv' using (line_of('strong', 0) && column('ranks') == per ? column('predicted_tokens_per_s') : NaN) nooutput; start = STATS_max; " . \
  "plot [1:] start * x / per with lines dt 2 lc rgb pale title 'ideal', " . \
  "for [s = 0:3] 'scaling.csv' using (line_of('strong', s) ? column('ranks') : NaN):(column('predicted_tokens_per_s')) with linespoints pt 7 ps 0.5 lw 2 lc rgb word(stage_colours, s + 1) title sprintf('ZeRO-%d', s), " . \
  "for [s = 0:3] '' using (line_of('strong', s) ? column('ranks') : NaN):(column('measured_tokens_per_s')) with points pt 2 ps 1.5 lw 2 lc rgb word(stage_colours, s + 1) notitle"
split = "set title 'weak scaling: where a step goes'; unset logscale; set format y '%h'; set xrange [-0.8:18.8]; set yrange [0:*]; stats 'scaling.csv' using (first('weak') ? 1e3 * column('predicted_step_s') : NaN) nooutput; set yrange [0:1.5 * STATS_max]; " . \
  "set boxwidth 0.8; set xtics ('0' 0); do for [g = 0:3] { do for [s = 0:3] { set xtics add (sprintf('%d', s) 5 * g + s) } }; " . \
  "do for [g = 0:3] { set label (g + 1) word(word(bars, of), g + 1) . ' ranks' at 5 * g + 1.5, graph -0.17 center }; set xlabel 'ZeRO stage' offset 0,-1; set ylabel 'ms'; " . \
  "set key inside left top maxrows 3; " . \
  "plot 'scaling.csv' using (first('weak') ? column('bar_x') : NaN):(1e3 * column('predicted_step_s')) with boxes lc rgb pale title 'idle', " . \
  "'' using (first('weak') ? column('bar_x') : NaN):(1e3 * (column('predicted_compute_s') + column('predicted_exposed_communication_s'))) with boxes lc rgb red title 'exposed communication', " . \
  "'' using (first('weak') ? column('bar_x') : NaN):(1e3 * column('predicted_compute_s')) with boxes lc rgb blue title of == 1 ? 'compute beside transfers' : 'compute'; " . \
  "set xlabel 'ranks' offset 0,0; do for [g = 1:4] { unset label g }"
do for [t in terminals] {
  eval page(t, 'scaling', 1080)
  set multiplot layout 3,2 columnsfirst margins 0.085,0.985,0.075,0.94 spacing 0.1,0.105
  do for [of = 1:2] {
    machine = word(machines, of)
    per = of == 1 ? 2 : 1
    eval weak
    eval strong
    eval split
  }
  unset multiplot
}
