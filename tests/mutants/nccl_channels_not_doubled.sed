# Fast channels are not doubled.
# file: cost/nccl/graph.c
# tests: test_nccl
s/if (graph->channels == 0 || graph->intra < 25e9) return;/if (graph->channels > 0) return;/
