# Casts of weights are kept in one layout on Hopper.
# file: core/lower/scaling.c
# tests: test_fp8_weights
s/compute_capability < 10 ? 2 : 1/compute_capability < 9 ? 2 : 1/
