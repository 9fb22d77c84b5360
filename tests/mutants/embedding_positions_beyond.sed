# Of the table of positions, rows beyond the sequences keep what was there, where gradients begin anew.
# file: kernels/gpu/embedding.cu
# tests: test_emulated_cuda_kernels
s/positions_op<W, T>{dwpe, dout, s, drop, 0, accumulate_wpe != 0}, n_positions, s.C)/positions_op<W, T>{dwpe, dout, s, drop, s.first_position, false}, n_positions < s.T ? n_positions : s.T, s.C)/
