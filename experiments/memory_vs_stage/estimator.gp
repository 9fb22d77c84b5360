# experiments/draw.sh experiments/memory_vs_stage/estimator.gp FOLDER, where estimator.csv is. What DeepSpeed's estimators count, and the peak of the whole step.
load ARG1
pile(k) = (sum [j = 1:k] column('program_' . word(categories, j) . '_GiB'))
name(s, o) = sprintf("ZeRO-%d\n%s", s, o eq 'none' ? 'no offload' : o eq 'both' ? 'all offloaded' : "optimizer\noffloaded")
set title "DeepSpeed's estimators and the peak of a whole step\n2.85 billion parameters, 8 devices, fp16, Adam"
set ylabel 'GiB a device'
set yrange [0:*]
set offsets 0, 0, graph 0.08, 0
set xrange [-0.6:4.6]
set boxwidth 0.24
set key inside right top
set bmargin 5
number(column_name) = sprintf('%.1f', column(column_name))
draw = "plot 'estimator.csv' using (column('row') - 0.27):(column('documented_device_GiB')) with boxes lc rgb pale title 'documented', " . \
  "'' using (column('row')):(column('estimator_now_device_GiB')):xtic(name(column('zero_stage'), stringcolumn('offload'))) with boxes lc rgb grey title 'estimator now', " . \
  "for [k = 5:1:-1] '' using (column('row') + 0.27):(pile(k)) with boxes lc rgb word(category_colours, k) title word(category_names, k), " . \
  "'' using (column('row') - 0.27):(column('documented_device_GiB')):(number('documented_device_GiB')) with labels offset 0,0.6 font small notitle, " . \
  "'' using (column('row')):(column('estimator_now_device_GiB')):(number('estimator_now_device_GiB')) with labels offset 0,0.6 font small notitle, " . \
  "'' using (column('row') + 0.27):(column('program_peak_GiB')):(number('program_peak_GiB')) with labels offset 0,0.6 font small notitle"
do for [t in terminals] {
  eval page(t, 'estimator', 520)
  eval draw
}
