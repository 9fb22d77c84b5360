# A sample of more layers than the model has no windows in the others.
# file: fast/sample.c
# tests: test_fast_odd
s/windowed ? 0xff : 0, sizeof s->model.form.windowed/0, 0 * windowed/
