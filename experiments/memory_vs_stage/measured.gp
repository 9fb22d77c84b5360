# experiments/draw.sh experiments/memory_vs_stage/measured.gp FOLDER, where measured.csv is. One panel a precision; bars are predicted, marks are measured.
load ARG1
shown = '' # precisions that are in the table
do for [p = 0:2] {
  stats 'measured.csv' using (column('panel') == p ? 1 : 0) nooutput
  if (STATS_max > 0) { shown = shown . sprintf(' %d', p) }
}
panels = words(shown)
stats 'measured.csv' using 'predicted_arena_MiB' nooutput
top = STATS_max
taken(x) = strcol(x) eq 'nan' ? column('predicted_arena_MiB') : column(x) # where nothing was measured
stats 'measured.csv' using (taken('measured_process_MiB')) nooutput
top = 1.15 * (STATS_max > top ? STATS_max : top)
stats 'measured.csv' using 'bar_x' nooutput
last = STATS_max
precisions = 'fp32 bf16 fp16'
here(x) = column('panel') == panel ? x : NaN
pile(k) = (sum [j = 1:k] column('predicted_' . word(categories, j) . '_MiB'))
set ylabel 'MiB a rank'
set xrange [-0.8:last + 0.8]; set yrange [0:top]
set boxwidth 0.8
# groups of bars: one rank, then two, four and eight, those that were asked for
do for [t in terminals] {
  eval page(t, 'measured', 110 + 300 * panels)
  tall = 110.0 + 300 * panels
  set multiplot layout panels,1 margins 0.085,0.74,75 / tall,1 - 40 / tall spacing 0.1,95 / tall
  do for [n = 1:panels] {
    panel = int(word(shown, n))
    set title 'peak memory of a rank, ' . word(precisions, panel + 1)
    set xtics ('any' 0)
    do for [g = 0:2] { do for [s = 0:3] { if (2.5 + 5 * g + s <= last) { set xtics add (sprintf('%d', s) 2.5 + 5 * g + s) } } }
    unset label
    set label 1 '1 rank' at 0, graph -0.155 center
    do for [g = 0:2] { if (4 + 5 * g <= last) { set label (g + 2) sprintf('ZeRO stage, %d ranks', 2 ** (g + 1)) at 4 + 5 * g, graph -0.155 center } }
    set key at screen 0.76, 1 - 40 / tall left top
    if (n > 1) { unset key }
    plot for [k = 7:1:-1] 'measured.csv' using (here(column('bar_x'))):(pile(k)) with boxes lc rgb word(category_colours, k) title word(category_names, k), \
      '' using (here(column('bar_x'))):(column('measured_arena_MiB')) with points pt 1 ps 1.6 lw 2 lc rgb 'black' title 'measured arena', \
      '' using (here(column('bar_x'))):(column('measured_process_MiB')) with points pt 6 ps 1.4 lw 1.6 lc rgb 'black' title 'measured process', \
      '' using (here(column('bar_x'))):(pile(7)):(sprintf('%.0f', column('predicted_arena_MiB'))) with labels offset 0,1 font small notitle
  }
  unset multiplot
}
