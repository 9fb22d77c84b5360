# experiments/draw.sh experiments/published/training/fit.gp FOLDER scatter errors, where predictions.csv and errors.csv are.
load ARG1
tables = 'korthikanti hagemann llmfoundry bigscience vtrain_multi_node nanotron torchtitan fms_fsdp unseen nvidia'
names = "'Megatron-LM, 22B to 1T' 'Llamas of 13B to 65B (Hagemann et al.)' 'llm-foundry' 'BigScience' 'vTrain' 'nanotron' 'torchtitan (never fitted)' 'fms-fsdp (never fitted)' 'NVIDIA, MLPerf, DeepSpeed (never fitted)' 'NVIDIA of 2024 to 2026'"
colours = blue . ' ' . orange . ' ' . green . ' ' . purple . ' ' . sky . ' ' . red . ' ' . grey . ' black #b8860b #5c2d91'
is(name) = (strcol('table') eq name)
order = '6 2 3 4 9 10 5 7 1 8' # those with most points first, so that they hide no other
bin(x) = 2 * floor(x / 2) + 1
do for [t in terminals] {
  eval page(t, 'scatter', 700)
  set logscale xy
  set xrange [0.1:300]; set yrange [0.1:300]
  set grid xtics ytics lt 1 lw 1 lc rgb '#e4e4e4'
  set key inside left top
  set title 'step times of published training runs, their model held out of the fit'
  set xlabel 'measured (s)'
  set ylabel 'predicted (s)'
  plot 1.1 * x with lines dt 2 lc rgb 'black' title '10 % off', x / 1.1 with lines dt 2 lc rgb 'black' notitle, x with lines lc rgb 'black' title 'equal', \
    for [k in order] 'predictions.csv' using (is(word(tables, int(k))) ? column('measured_s') : NaN):(column('predicted_by_model_s')) with points pt 7 ps 0.55 lc rgb word(colours, int(k)) title word(names, int(k))
  eval page(t, 'errors', 460)
  unset logscale
  set grid noxtics
  set title 'how far predictions are off, the model held out of the fit'
  set xlabel 'predicted / measured - 1 (%)'
  set ylabel 'runs'
  set key inside right top
  set boxwidth 2
  set xrange [-60:60]; set yrange [0:*]
  plot 'errors.csv' using (bin(column('by_model_percent'))):(1) smooth frequency with boxes lc rgb blue title 'all fitted tables', \
    '' using (is('nanotron') ? bin(column('by_model_percent')) : NaN):(1) smooth frequency with boxes lc rgb orange title 'of them nanotron'
}
