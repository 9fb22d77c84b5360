# Of every row only the first run is copied.
# file: kernels/gpu/columns.cu
# tests: test_emulated_cuda_kernels
s/row = r \/ groups, g = r % groups;/row = r \/ groups, g = 0;/
