# Two curves of one stage and world have one name.
# file: analysis/table.c
# tests: plot_records
s/  if (alike > 1) fprintf/  if (alike > 1000) fprintf/
