# The compute lane's capture ends without what the other lanes have done.
# file: backend/cuda/graph.c
# tests: test_cuda_graph
s/  for (uint32_t i = 0; i < p->issue_count; i++) {/  for (uint32_t i = 0; i + 1 < p->issue_count; i++) {/
