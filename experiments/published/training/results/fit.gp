# gnuplot fit.gp, in this folder
set datafile separator ','
set terminal png size 1000,900
names = 'korthikanti hagemann llmfoundry bigscience vtrain_multi_node nanotron torchtitan'
set key left top
set border 3
set tics nomirror
set logscale xy
set xlabel 'measured step time, s'
set ylabel 'predicted step time, s (model held out; torchtitan never fitted)'
set title 'Predicted and measured steps; dashed: 10 % off'
colours = '#4477aa #ee6677 #228833 #ccbb44 #66ccee #aa3377 #777777'
set output 'scatter.png'
is(name) = (strcol('table') eq name)
plot x with lines lc rgb 'black' notitle, 1.1 * x with lines dt 2 lc rgb 'grey50' notitle, x / 1.1 with lines dt 2 lc rgb 'grey50' notitle, \
  for [i = 1:words(names)] 'predictions.csv' using (is(word(names, i)) ? column('measured_s') : NaN):(column('predicted_by_model_s')) with points pt 7 ps 0.6 lc rgb word(colours, i) title word(names, i) noenhanced
unset logscale
set terminal png size 1000,500
set output 'errors.png'
set title 'How far predictions are off, model held out'
set xlabel 'predicted / measured - 1, %'
set ylabel 'runs'
set key right top
width = 2.0
bin(x) = width * floor(x / width) + width / 2
set boxwidth width
set style fill solid 0.7 border rgb 'white'
set xrange [-60:60]
plot 'errors.csv' using (bin(column('by_model_percent'))):(1) smooth frequency with boxes lc rgb '#4477aa' title 'all fitted tables', \
  'errors.csv' using (strcol('table') eq 'nanotron' ? bin(column('by_model_percent')) : NaN):(1) smooth frequency with boxes lc rgb '#ee6677' title 'of them nanotron'
