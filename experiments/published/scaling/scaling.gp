# gnuplot -e "name='scaling_weak'" scaling.gp, where NAME.csv is. Left: speed; right: where a step goes.
set datafile separator ','
set datafile columnheaders
set border 3 lc rgb '#555555'
set tics nomirror
set grid ytics lt 1 lc rgb '#e4e4e4' lw 1
stats name . '.csv' using 2 nooutput
rows = STATS_records
set xtics rotate by 40 right offset 0.6,-0.2 font ',10'
do for [terminal in 'svg pngcairo'] {
  eval sprintf("set terminal %s size 1280,540 font 'Helvetica,12' background rgb 'white'", terminal)
  set output name . (terminal eq 'svg' ? '.svg' : '.png')
  set multiplot layout 1,2 margins 0.06,0.99,0.30,0.93 spacing 0.06,0.1
  set xrange [-0.7:rows - 0.3]
  set title 'model flops: predicted, and as published' font ',13'
  set ylabel 'TFLOP/s a GPU' offset 0.3,0
  set yrange [0:*]
  set style data points
  set boxwidth 0.6
  set style fill solid 0.9 noborder
  set key at graph 0.5,-0.24 center top vertical reverse Left samplen 1.5
  plot name . '.csv' using 0:'predicted_TFLOPS':xtic(stringcolumn('job')) with boxes lc rgb '#4477aa' title 'predicted', \
    '' using 0:'published_TFLOPS' with points pt 7 ps 1.3 lc rgb '#ee6677' title 'published'
  set title 'predicted: where a step of the busiest rank goes' font ',13'
  set ylabel '% of the step' offset 0.3,0
  set yrange [0:100]
  part(x) = 100 * x / column('step_time_s')
  plot name . '.csv' using 0:(part(column('compute_s') + column('bubble_s') + column('exposed_s'))):xtic(stringcolumn('job')) with boxes lc rgb '#ee6677' title 'communication that nothing hides', \
    '' using 0:(part(column('compute_s') + column('bubble_s'))) with boxes lc rgb '#ccbb44' title 'bubble', \
    '' using 0:(part(column('compute_s'))) with boxes lc rgb '#4477aa' title 'compute'
  unset multiplot
}
