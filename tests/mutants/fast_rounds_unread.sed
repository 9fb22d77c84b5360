# Rounds of an interleaved pipeline are taken for as many micro-batches as there are ranks.
# file: fast/whole.c
# tests: test_fast_whole
s/round = rounds > 0 ? n_micro \/ rounds : n_micro;/round = rounds > 0 ? c->sl.pp : n_micro;/
