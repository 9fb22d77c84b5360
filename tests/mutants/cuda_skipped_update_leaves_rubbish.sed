# On a GPU a skipped step leaves the parameter as it stood, which of one that is copied back is rubbish.
# file: kernels/gpu/master.cu
# tests: test_emulated_cuda_kernels
s/  for (size_t i = first; param \&\& i < n/  for (size_t i = first; !param \&\& i < n/
