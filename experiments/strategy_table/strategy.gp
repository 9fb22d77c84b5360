# gnuplot strategy.gp, where strategy.csv is. Left: where the memory of a GPU goes; right: the largest model that fits.
set datafile separator ','
set datafile columnheaders
set border 3 lc rgb '#555555'
set tics nomirror
set grid xtics lt 1 lc rgb '#e4e4e4' lw 1
parts = "parameter_GiB gradient_GiB optimizer_GiB activation_GiB communication_GiB"
names = "parameters gradients optimizer activations 'communication and rest'"
colours = '#4477aa #66ccee #228833 #ccbb44 #ee6677'
at(w) = column('ranks') == w ? 1 : NaN
stats 'strategy.csv' using 'peak_GiB' nooutput
n = STATS_records
set style fill solid 0.9 border rgb 'white'
set boxwidth 0.7
left(i) = sum [k = 1:i] column(word(parts, k))
do for [terminal in 'svg pngcairo'] {
  eval sprintf("set terminal %s size 1560,680 font 'Helvetica,12' background rgb 'white'", terminal)
  set output terminal eq 'svg' ? 'strategy.svg' : 'strategy.png'
  set multiplot layout 1,2 margins 0.265,0.985,0.10,0.92 spacing 0.04,0.1
  set yrange [n - 0.4:-0.6]
  set title 'GPT-3 1.3B: memory of a GPU at the peak' font ',13'
  set xlabel 'GiB'
  set xrange [0:*]
  set key inside right bottom vertical samplen 1 spacing 1.1
  set ytics ('' 0)
  plot for [i = 5:1:-1] 'strategy.csv' using (left(i) / 2):($0 + 0):(left(i) / 2):(0.35):ytic(sprintf('%s GPUs: %s', strcol('ranks'), strcol('strategy'))) with boxxyerror lc rgb word(colours, i) title word(names, i)
  set title 'largest GPT that fits in 80 GiB' font ',13'
  set xlabel 'billions of parameters'
  set logscale x
  set xrange [1:2000]
  set ytics format ''
  unset key
  plot 'strategy.csv' using (sqrt(column('largest_billion'))):($0):(1):(column('largest_billion')):($0 - 0.35):($0 + 0.35) with boxxyerror lc rgb '#4477aa', \
    '' using 'largest_billion':($0):(sprintf(' %s, mfu %.0f %%', strcol('largest'), column('largest_mfu_percent'))) with labels left
  unset logscale x
  set format y '% h'
  unset multiplot
}
