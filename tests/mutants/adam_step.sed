# Adam's second bias correction is left out.
# file: kernels/optimizer.c
# tests: golden_1
s/\.inv_root = (sl_real)(1 \/ sqrt(c2))/.inv_root = 1/
