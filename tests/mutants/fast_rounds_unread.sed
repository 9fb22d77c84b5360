# Interleaved pipelines deal rounds of one micro-batch per rank, whatever their number.
# file: fast/whole.c
# tests: test_fast_odd
s/ || n_micro % config->sl.pp == 0;/ || true;/
