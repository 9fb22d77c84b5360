# A bias gradient is asked of the factor whose transposition cuBLASLt has no such product for.
# file: backend/cuda/gemm.c
# tests: test_cuda_backend
s/return CUBLASLT_EPILOGUE_BGRADA;/return CUBLASLT_EPILOGUE_BGRADX;/
s/return CUBLASLT_EPILOGUE_BGRADB;/return CUBLASLT_EPILOGUE_BGRADA;/
s/BGRADX/BGRADB/
