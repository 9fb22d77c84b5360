# A bias at any address goes into a product.
# file: backend/cuda/gemm.c
# tests: test_cuda_backend
s/key->align_bias != 0 && key->align_bias < 16/key->align_bias != 0 \&\& key->align_bias < 4/
