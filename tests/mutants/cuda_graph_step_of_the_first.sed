# The number of the step that a graph copies to the device stays that of its first launch.
# file: backend/cuda/graph.c
# tests: test_cuda_graph
s/  \*g->step = cuda->step;/  if (*g->step == 0) *g->step = cuda->step;/
