# experiments/draw.sh experiments/pipeline_bubble/bubble.gp FOLDER, where bubble.csv is. Lines closed forms, points predicted; of two ranks, measured too.
load ARG1
titles = "'1f1b' 'interleaved 2' 'interleaved 6' 'zb-h1' 'zbv'"
few = "'1f1b' 'interleaved 2' 'interleaved 4' 'zb-h1' 'zbv'"
colours = grey . ' ' . blue . ' ' . orange . ' ' . red . ' ' . green
one(k, s, p) = stringcolumn('machine') eq k && stringcolumn('schedule') eq s && column('ranks') == p
of_rounds(s, r) = stringcolumn('machine') eq 'gpu' && stringcolumn('schedule') eq s && column('micro_batches') == r * column('ranks')
set datafile missing NaN # rows of other curves leave no gap in a line
stats 'bubble.csv' using (stringcolumn('machine') eq 'cpu' && stringcolumn('measured_percent') ne 'nan') nooutput
measured = STATS_max > 0 ? 5 : 0 # curves: none with --no-measure
set logscale x 2
set ylabel 'bubble (% of a step)'
do for [t in terminals] {
  eval page(t, 'bubble', 760)
  set multiplot layout 2,2 margins 0.075,0.985,0.08,0.945 spacing 0.085,0.14
  set yrange [0:*]
  unset key
  set title 'GPT-3 175B on 16 x 8 A100s'
  set xlabel 'micro-batches'
  set xrange [14:146]; set xtics (16, 32, 64, 128)
  plot for [i = 1:5] 'bubble.csv' using (one('gpu', word(titles, i), 16) ? column('micro_batches') : NaN):'closed_form_percent' smooth unique with lines lw 2 dt 1 + (i == 5) lc rgb word(colours, i), \
    for [i = 1:5] '' using (one('gpu', word(titles, i), 16) ? column('micro_batches') : NaN):'predicted_percent' with points pt 7 ps 0.9 lc rgb word(colours, i)
  set title 'the same, four micro-batches a pipeline rank'
  set xlabel 'pipeline ranks'
  set xrange [1.8:18]; set xtics (2, 4, 8, 16)
  plot for [i = 1:5] 'bubble.csv' using (of_rounds(word(titles, i), 4) ? column('ranks') : NaN):'closed_form_percent' smooth unique with lines lw 2 dt 1 + (i == 5) lc rgb word(colours, i), \
    for [i = 1:5] '' using (of_rounds(word(titles, i), 4) ? column('ranks') : NaN):'predicted_percent' with points pt 7 ps 0.9 lc rgb word(colours, i)
  set title 'two ranks of this machine'
  set key at screen 0.58, 0.36 left top spacing 1.35 # in the fourth place, of all three
  set xlabel 'micro-batches'
  plot for [i = 1:5] 'bubble.csv' using (one('cpu', word(few, i), 2) ? column('micro_batches') : NaN):'closed_form_percent' smooth unique with lines lw 2 dt 1 + (i == 5) lc rgb word(colours, i) title i == 3 ? 'interleaved 6 (two ranks: 4)' : word(few, i), \
    for [i = 1:5] '' using (one('cpu', word(few, i), 2) ? column('micro_batches') : NaN):'predicted_percent' with points pt 7 ps 0.9 lc rgb word(colours, i) notitle, \
    for [i = 1:measured] '' using (one('cpu', word(few, i), 2) ? column('micro_batches') : NaN):'measured_percent' with points pt 2 ps 1.4 lw 2 lc rgb word(colours, i) notitle, \
    keyentry with lines lw 2 lc rgb 'black' title 'line: closed form', keyentry with points pt 7 ps 0.9 lc rgb 'black' title 'point: predicted', \
    keyentry with points pt 2 ps 1.4 lw 2 lc rgb 'black' title 'cross: measured'
  unset multiplot
}
