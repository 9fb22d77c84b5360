# What gnuplot says goes to the terminal as it is, beside our one line.
# file: analysis/plot.c
# tests: plot_records
s/if (said >= 0) (void)dup2(said, STDERR_FILENO);/if (said >= 0) (void)dup2(said, said);/
