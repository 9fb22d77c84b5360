# Micro-batches of a step that is a graph are those of the step before.
# file: backend/cuda/graph.c
# tests: test_cuda_graph
s/  if (it->op->kind == SL_OP_LOAD_BATCH) SL_TRY/  if (false) SL_TRY/
