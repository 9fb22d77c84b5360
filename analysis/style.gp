# The style of every picture: of those that shardlab-analyze draws, which has this file inside, and of the experiments' (experiments/draw.sh).
# Colours are those of Okabe and Ito, which the colour-blind tell apart (https://jfly.uni-koeln.de/color/).
set encoding utf8
set datafile separator ','
set border 3 lw 1 lc rgb '#555555'
set tics nomirror scale 0.6
set format '%h' # without the blank in front that takes numbers off their tics
set grid ytics lt 1 lw 1 lc rgb '#e4e4e4'
set title offset 0,-0.4
set style fill solid 0.9 border rgb 'white'
set key noenhanced reverse Left samplen 1.5 spacing 1.15
blue = '#0072b2'; sky = '#56b4e9'; green = '#009e73'; yellow = '#f0e442'; orange = '#e69f00'; red = '#d55e00'; purple = '#cc79a7'
grey = '#777777'; pale = '#bbbbbb'
categories = 'parameter gradient optimizer activation communication workspace fragmentation'
category_names = "'parameters' 'gradients' 'optimizer state' 'activations' 'buckets, gathered' 'workspace' 'fragmentation'"
category_colours = blue . ' ' . sky . ' ' . green . ' ' . yellow . ' ' . red . ' ' . purple . ' ' . pale
stage_colours = grey . ' ' . blue . ' ' . red . ' ' . green # of ZeRO 0 to 3
curve_colours = grey . ' ' . blue . ' ' . sky . ' ' . red . ' ' . green . ' ' . purple . ' ' . orange . ' black'
width = 900 # pixels: a column of a page
terminals = 'svg pngcairo'
# Begin NAME.svg or NAME.png, so many pixels high. Type is 14 pixels high, and `small`, for numbers on bars and what stands close, 12: svg counts them in
# pixels, pngcairo in points.
page(terminal, name, height) = sprintf("set terminal %s size %d,%d font 'Helvetica,%d' background rgb 'white'; small = ',%d'; set output '%s.%s'", \
  terminal, width, height, terminal eq 'svg' ? 14 : 11, terminal eq 'svg' ? 12 : 9, name, terminal eq 'svg' ? 'svg' : 'png')
