# Backward's block takes the queries of one head, not of all that share its keys.
# file: cost/measured.c
# tests: test_fit_gpu
s/(double)dim\[2\] \/ (double)dim\[4\] \/ sl_op_attention_parts(dim) : 1/1 : 1/
