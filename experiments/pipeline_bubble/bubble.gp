# gnuplot bubble.gp, where bubble.csv is. Lines closed forms, points predicted; on the right, of two ranks, measured too.
set datafile separator ','
set border 3 lc rgb '#555555'
set tics nomirror
set grid ytics lt 1 lc rgb '#e4e4e4' lw 1
schedules = "'1f1b' 'interleaved 2' 'interleaved 6' 'zb-h1' 'zbv'"
small = "'1f1b' 'interleaved 2' 'interleaved 4' 'zb-h1' 'zbv'"
colours = '#888888 #4477aa #66ccee #ee6677 #228833'
one(k, s, p) = stringcolumn('machine') eq k && stringcolumn('schedule') eq s && column('ranks') == p
of_rounds(s, r) = stringcolumn('machine') eq 'gpu' && stringcolumn('schedule') eq s && column('micro_batches') == r * column('ranks')
set logscale x 2
do for [terminal in 'svg pngcairo'] {
  eval sprintf("set terminal %s size 1560,520 font 'Helvetica,12' background rgb 'white'", terminal)
  set output terminal eq 'svg' ? 'bubble.svg' : 'bubble.png'
  set multiplot layout 1,3 margins 0.045,0.99,0.13,0.91 spacing 0.055,0.1
  set ylabel 'bubble (% of a step)' offset 0.5,0
  set yrange [0:*]
  set key inside right top vertical reverse Left samplen 2 spacing 1.1
  set title 'GPT-3 175B on 16 x 8 A100s: closed forms (lines), predicted' font ',12'
  set xlabel 'micro-batches'
  set xrange [14:146]; set xtics (16, 32, 64, 128)
  plot for [i = 1:5] 'bubble.csv' using (one('gpu', word(schedules, i), 16) ? column('micro_batches') : NaN):'closed_form_percent' smooth unique with lines lw 2 lc rgb word(colours, i) title word(schedules, i), \
    for [i = 1:5] '' using (one('gpu', word(schedules, i), 16) ? column('micro_batches') : NaN):'predicted_percent' with points pt 7 ps 0.9 lc rgb word(colours, i) notitle
  set title 'the same, four micro-batches for each pipeline rank' font ',12'
  set xlabel 'pipeline ranks'
  set xrange [1.8:18]; set xtics (2, 4, 8, 16)
  set key inside left top
  plot for [i = 1:5] 'bubble.csv' using (of_rounds(word(schedules, i), 4) ? column('ranks') : NaN):'closed_form_percent' smooth unique with lines lw 2 lc rgb word(colours, i) title word(schedules, i), \
    for [i = 1:5] '' using (of_rounds(word(schedules, i), 4) ? column('ranks') : NaN):'predicted_percent' with points pt 7 ps 0.9 lc rgb word(colours, i) notitle
  set title 'two ranks here: predicted (points), measured (crosses)' font ',12'
  set xlabel 'micro-batches'
  set xrange [1.8:18]; set xtics (2, 4, 8, 16)
  set key inside right top
  plot for [i = 1:5] 'bubble.csv' using (one('cpu', word(small, i), 2) ? column('micro_batches') : NaN):'closed_form_percent' smooth unique with lines lw 2 lc rgb word(colours, i) title word(small, i), \
    for [i = 1:5] '' using (one('cpu', word(small, i), 2) ? column('micro_batches') : NaN):'predicted_percent' with points pt 7 ps 0.9 lc rgb word(colours, i) notitle, \
    for [i = 1:5] '' using (one('cpu', word(small, i), 2) ? column('micro_batches') : NaN):'measured_percent' with points pt 2 ps 1.4 lw 2 lc rgb word(colours, i) notitle
  unset multiplot
}
