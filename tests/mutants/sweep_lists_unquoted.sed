# A value of a sweep that has commas is several cells of its table.
# file: cli/sweep.c
# tests: test_cli_sweep
s/sl_csv_put(out, sl_axes_value/fputs(sl_axes_value/;s/(&s->axes, a, i));$/(\&s->axes, a, i), out);/
