# A product's last wave of tiles is not charged whole.
# file: cost/gemm.c
# tests: test_cost_kernels
s/return waves < 8 ? ceil(waves) : waves + 0.5;/return waves;/
