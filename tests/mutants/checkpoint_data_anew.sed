# A resumed run begins with the data's first sample.
# file: backend/common/input.c
# tests: checkpoint_pairs
s/return sl_sum(options->first_sample, /return sl_sum(0, /
