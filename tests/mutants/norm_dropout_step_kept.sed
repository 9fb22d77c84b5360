# A graph's norms draw the dropout of a branch's gradient with the step in which the graph was made.
# file: kernels/gpu/norm_backward.cuh
# tests: test_emulated_cuda_kernels
s/  if (DROP) from.drop.begin();//
