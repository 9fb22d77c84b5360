# Every GELU is written in Python.
# file: core/plan/kernels.c
# tests: test_kernel_set_rows
s/return form->activation == SL_ACTIVATION_GELU_TANH \&\& !form->gelu_of_torch;/return true;/
