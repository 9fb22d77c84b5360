# The gradient of a LayerNorm that multiplies by 1 + weight is that of one that multiplies by weight.
# file: kernels/layernorm.c
# tests: test_kernels_forms
s/rstd \* (d\[c\] \* (w\[c\] + one) - mean_g/rstd * (d[c] * (w[c] + one * 0) - mean_g/
