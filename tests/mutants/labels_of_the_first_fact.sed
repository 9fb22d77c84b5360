# The name of a row has what all rows have alike in place of what tells them apart.
# file: analysis/labels.c
# tests: plot_records
s/    if (!chosen\[f\]) continue;/    if (chosen[f]) continue;/
