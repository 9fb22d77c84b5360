# experiments/draw.sh experiments/strategy_table/strategy.gp FOLDER, where strategy.csv is. Left: where the memory of a GPU goes; right: the largest model that fits.
load ARG1
set datafile columnheaders
stats 'strategy.csv' using 'peak_GiB' nooutput
n = STATS_records
names = "parameters gradients 'optimizer state' activations 'buckets and the rest'"
upto(i) = sum [k = 1:i] column(word(categories, k) . '_GiB')
do for [t in terminals] {
  eval page(t, 'strategy', 700)
  set multiplot layout 1,2 margins 0.35,0.985,0.09,0.945 spacing 0.03,0.1
  unset grid; set grid xtics lt 1 lw 1 lc rgb '#e4e4e4'
  set yrange [n - 0.4:-0.6]
  set title 'GPT-3 1.3B: memory of a GPU'
  set xlabel 'GiB at the peak'
  set xrange [0:29]
  set xtics autofreq
  set key inside right bottom
  set ytics ('' 0) font small scale 0
  plot for [i = 5:1:-1] 'strategy.csv' using (upto(i) / 2):($0 + 0):(upto(i) / 2):(0.35):ytic(sprintf('%s GPUs: %s', strcol('ranks'), strcol('strategy'))) with boxxyerror lc rgb word(category_colours, i) title word(names, i), \
    '' using (upto(5)):($0):(sprintf(' %.1f', column('peak_GiB'))) with labels left font small notitle
  set title 'largest GPT that fits in 80 GiB'
  set xlabel 'billions of parameters'
  set logscale x
  set xrange [1:30000]
  set xtics (1, 10, 100, 1000)
  set ytics format ''
  unset key
  plot 'strategy.csv' using (sqrt(column('largest_billion'))):($0):(1):(column('largest_billion')):($0 - 0.35):($0 + 0.35) with boxxyerror lc rgb blue, \
    '' using 'largest_billion':($0):(sprintf(' %s, mfu %.0f %%', strcol('largest'), column('largest_mfu_percent'))) with labels left font small
  unset logscale x
  set format y '%h'
  unset multiplot
}
