# What is known of the programs of one micro-batch size is taken for all.
# file: fast/wholes.c
# tests: test_fast_odd
s/size = c->micro_batch << 3 | several << 1 | many;/size = (several > 0) << 1 | many;/
