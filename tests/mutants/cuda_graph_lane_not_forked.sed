# The other lanes are no part of the capture from its beginning on: what they do first stays outside of the graph.
# file: backend/cuda/graph.c
# tests: test_cuda_graph
s/    if (uses\[lane\] && lane != SL_LANE_COMPUTE)$/    if (uses[lane] \&\& lane < 0)/
