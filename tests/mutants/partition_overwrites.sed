# Stage 2: the second micro-batch's reduction overwrites the partition.
# file: core/lower_zero.c
# tests: equivalence_2 golden_2
s/keep ? sl_update(l, grad) : sl_write(l, grad)/(void)keep, sl_write(l, grad)/
