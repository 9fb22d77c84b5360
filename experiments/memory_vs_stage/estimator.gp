# gnuplot estimator.gp, where estimator.csv is. What DeepSpeed's estimators count, and the peak of the whole step.
set datafile separator ','
set border 3 lc rgb '#555555'
set tics nomirror
set grid ytics lt 1 lc rgb '#e4e4e4' lw 1
names = 'parameter gradient optimizer activation communication'
labels = "'parameters' 'gradients' 'optimizer state' 'activations' 'buckets, gathered'"
colours = '#4477aa #66ccee #228833 #ccbb44 #ee6677'
pile(k) = (sum [j = 1:k] column('program_' . word(names, j) . '_GiB'))
set title "DeepSpeed's estimators and the peak of a whole step: 2.85 billion parameters, 8 devices, fp16, Adam" font ',14'
set ylabel 'GiB a device'
set yrange [0:18]
set bmargin 4
set xrange [-0.6:4.6]
set boxwidth 0.24
set style fill solid 0.9 border rgb 'white'
set key outside right center reverse Left samplen 1 spacing 1.25
name(s, o) = sprintf("ZeRO-%d\n%s", s, o eq 'none' ? 'no offload' : o eq 'both' ? 'all offloaded' : 'optimizer offloaded')
draw = "plot 'estimator.csv' using (column('row') - 0.27):(column('documented_device_GiB')) with boxes lc rgb '#bbbbbb' title 'documented', " . \
  "'' using (column('row')):(column('estimator_now_device_GiB')):xtic(name(column('zero_stage'), stringcolumn('offload'))) with boxes lc rgb '#777777' title 'estimator now', " . \
  "for [k = 5:1:-1] '' using (column('row') + 0.27):(pile(k)) with boxes lc rgb word(colours, k) title word(labels, k), " . \
  "'' using (column('row') - 0.27):(column('documented_device_GiB')):(sprintf('%.2f', column('documented_device_GiB'))) with labels offset 0,0.6 font ',10' notitle, " . \
  "'' using (column('row')):(column('estimator_now_device_GiB')):(sprintf('%.2f', column('estimator_now_device_GiB'))) with labels offset 0,0.6 font ',10' notitle, " . \
  "'' using (column('row') + 0.27):(column('program_peak_GiB')):(sprintf('%.2f', column('program_peak_GiB'))) with labels offset 0,0.6 font ',10' notitle"
set terminal svg size 1100,460 font 'Helvetica,12' background rgb 'white'
set output 'estimator.svg'
eval draw
set terminal pngcairo size 1100,460 font 'Helvetica,12' background rgb 'white'
set output 'estimator.png'
eval draw
