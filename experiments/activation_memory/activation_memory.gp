# experiments/draw.sh experiments/activation_memory/activation_memory.gp FOLDER, where activation_memory.csv is: bars the prediction, circles the paper's figure 7.
load ARG1
set title 'activations that a layer keeps, beside those of tensor parallelism alone (tp 8)'
set ylabel '% of tensor parallelism alone'
set xrange [-0.6:3.6]
set yrange [0:118]
set xtics ('22B' 0, '175B' 1, '530B' 2, '1T' 3)
set boxwidth 0.15
set key outside bottom center horizontal maxrows 2
colours = grey . ' ' . blue . ' ' . orange . ' ' . green . ' ' . red
names = 'none seq sel seqsel full'
labels = "'tensor parallel' '+ sequence parallel' '+ selective recomputation' '+ both' 'full recomputation'"
place(k) = floor((column(0)) / 5) + 0.17 * (k - 3)
of(k) = stringcolumn('technique') eq word(names, k) ? 1 : NaN
number(x) = sprintf('%.0f', x)
draw = "plot for [k = 1:5] 'activation_memory.csv' using (place(k) * of(k)):(column('predicted_percent')) with boxes lc rgb word(colours, k) title word(labels, k), " . \
  "for [k = 1:5] '' using (place(k) * of(k)):(column('published_percent')) with points pt 6 ps 1.1 lw 1.6 lc rgb 'black' title (k == 5 ? 'published' : ''), " . \
  "for [k = 1:5] '' using (place(k) * of(k)):(column('predicted_percent')):(number(column('predicted_percent'))) with labels offset 0,0.9 font small notitle"
do for [t in terminals] {
  eval page(t, 'activation_memory', 500)
  eval draw
}
