# experiments/draw.sh experiments/published/scaling/scaling.gp FOLDER NAME, where NAME.csv is. Above: speed; below: where a step goes.
load ARG1
name = ARG2
set datafile columnheaders
stats name . '.csv' using 2 nooutput
rows = STATS_records
set xrange [-0.7:rows - 0.3]
set boxwidth 0.6
set style data points
part(x) = 100 * x / column('step_time_s')
do for [t in terminals] {
  eval page(t, name, 860)
  set multiplot layout 2,1
  set title 'model flops: predicted, and as published'
  set ylabel 'TFLOP/s a GPU'
  set yrange [0:*]
  set lmargin at screen 0.09; set rmargin at screen 0.985
  set tmargin at screen 0.955; set bmargin at screen 0.60
  set xtics ('' 0) # one place a job: those of the lower picture have its name
  set for [i = 1:rows - 1] xtics add ('' i)
  set key outside above right horizontal
  plot name . '.csv' using 0:'predicted_TFLOPS' with boxes lc rgb blue title 'predicted', \
    '' using 0:'published_TFLOPS' with points pt 7 ps 1.3 lc rgb red title 'published', \
    '' using 0:(0):(sprintf('%.0f', column('predicted_TFLOPS'))) with labels offset 0,0.7 textcolor rgb 'white' font small notitle
  set title 'predicted: where a step of the busiest rank goes'
  set ylabel '% of the step'
  set yrange [0:100]
  set tmargin at screen 0.54; set bmargin at screen 0.21
  set xtics rotate by 40 right offset 0.6,-0.2 font small
  set key at screen 0.5, 0.05 center bottom horizontal maxcols 3
  plot name . '.csv' using 0:(part(column('compute_s') + column('bubble_s') + column('exposed_s'))):xtic(stringcolumn('job')) with boxes lc rgb red title 'communication that nothing hides', \
    '' using 0:(part(column('compute_s') + column('bubble_s'))) with boxes lc rgb yellow title 'bubble', \
    '' using 0:(part(column('compute_s'))) with boxes lc rgb blue title 'compute'
  unset multiplot
}
