# A norm's backward takes a kernel for each of its halves, also where a row fits into a warp's registers.
# file: kernels/gpu/norm_backward.cuh
# tests: test_cuda_launches
s/const bool once = w.C <=/const bool once = !w.dweight \&\& w.C <=/
