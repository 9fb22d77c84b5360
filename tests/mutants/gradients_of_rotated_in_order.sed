# What was rotated is not copied behind attention.
# file: core/plan/kernels.c
# tests: test_kernel_rows
s/return form->positions == SL_POSITIONS_ROTARY;/return false;/
