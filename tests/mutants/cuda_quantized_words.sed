# On the GPU codes of 4 bits are put where those of 8 belong.
# file: kernels/gpu/quantize.cu
# tests: test_emulated_cuda_quantize
s|<< (k \* (size_t)s.bits)|<< (k * 8 % 32)|
