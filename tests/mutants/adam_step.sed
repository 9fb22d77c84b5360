# Adam's second bias correction is left out.
# file: kernels/optimizer_inline.h
# tests: golden_1
s/1 \/ sqrt(c2)/1 \/ sqrt(c2 > 0 ? 1 : c2)/
