# A resumed run draws the dropout masks of its first steps again.
# file: core/run/executor.c
# tests: checkpoint_pairs
s/const int64_t step = run->options.first_step + i;/const int64_t step = i;/
