# The tokens of a block have positions that follow its first's, whichever chunk they are of.
# file: kernels/gpu/llama.cu
# tests: test_emulated_cuda_kernels
s/sl_position(&at, first + k \/ half)/(sl_position(\&at, first) + k \/ half)/
