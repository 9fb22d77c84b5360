# experiments/draw.sh experiments/validate_gpu/scatter.gp FOLDER, where points.tsv is: predicted against measured step times.
load ARG1
set datafile separator "\t"
set datafile columnheaders
set logscale xy
set grid xtics ytics lt 1 lw 1 lc rgb '#e4e4e4'
set key inside left top
set title 'step times on one GPU'
set xlabel 'measured (ms)'
set ylabel 'predicted (ms)'
do for [t in terminals] {
  eval page(t, 'scatter', 600)
  plot x with lines lc rgb grey title 'equal', x * 1.05 with lines dt 2 lc rgb grey title '5 % off', \
    x * 0.95 with lines dt 2 lc rgb grey notitle, \
    'points.tsv' using 'measured_ms':'predicted_ms' with points pt 7 lc rgb blue title 'a model, micro-batch and recomputation'
}
