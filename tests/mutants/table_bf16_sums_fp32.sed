# Gradients that are reduced in bf16 are kept in fp32.
# file: table/inputs.c
# tests: test_table_frameworks
s/const bool reduces_16 = f->sums_as_reduced/const bool reduces_16 = false \&\& f->sums_as_reduced/
