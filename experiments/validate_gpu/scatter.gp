# Predicted against measured step time. usage: gnuplot -c scatter.gp points.tsv out.svg
set terminal svg size 640,560
set output ARG2
set datafile separator "\t"
set logscale xy
set key left top
set xlabel "measured step time (ms)"
set ylabel "predicted step time (ms)"
plot x with lines lc "gray" title "equal", x * 1.05 with lines dt 2 lc "gray" title "5 %", \
     x * 0.95 with lines dt 2 lc "gray" notitle, \
     ARG1 using "measured_ms":"predicted_ms" with points pt 7 title "one GPU"
