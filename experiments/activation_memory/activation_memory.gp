# gnuplot activation_memory.gp, where activation_memory.csv is: bars the prediction, circles the paper's figure 7.
set datafile separator ','
set border 3 lc rgb '#555555'
set tics nomirror
set grid ytics lt 1 lc rgb '#e4e4e4' lw 1
set title "Activations that a layer keeps, relative to tensor parallelism alone (tp 8)" font ',14'
set ylabel '% of tensor parallelism alone'
set xrange [-0.6:3.6]
set yrange [0:118]
set xtics ('22B' 0, '175B' 1, '530B' 2, '1T' 3)
set boxwidth 0.15
set style fill solid 0.85 border rgb 'white'
set key outside bottom center horizontal Left reverse samplen 1
colours = '#888888 #4477aa #ccbb44 #228833 #ee6677'
names = 'none seq sel seqsel full'
labels = "'tensor parallel' '+ sequence parallel' '+ selective recomputation' '+ both' 'full recomputation'"
place(k) = floor((column(0)) / 5) + 0.17 * (k - 3)
of(k) = stringcolumn('technique') eq word(names, k) ? 1 : NaN
picture = "plot for [k = 1:5] 'activation_memory.csv' using (place(k) * of(k)):(column('predicted_percent')) with boxes lc rgb word(colours, k) title word(labels, k), " . \
  "for [k = 1:5] '' using (place(k) * of(k)):(column('published_percent')) with points pt 6 ps 1.1 lw 1.6 lc rgb 'black' title (k == 5 ? 'published' : ''), " . \
  "for [k = 1:5] '' using (place(k) * of(k)):(column('predicted_percent')):(sprintf('%.1f', column('predicted_percent'))) with labels offset 0,1 font ',9' notitle"
set terminal svg size 900,480 font 'Helvetica,12' background rgb 'white'
set output 'activation_memory.svg'
eval picture
set terminal pngcairo size 900,480 font 'Helvetica,12' background rgb 'white'
set output 'activation_memory.png'
eval picture
