# Whole tiles and waves cost nothing beside a product's own flops.
# file: cost/measured.c
# tests: test_fit_gpu
s/work->terms\[SL_TERM_IDLE\] = sl_gemm_padded_flops/work->terms[SL_TERM_IDLE] = 0 * sl_gemm_padded_flops/
