# A broadcast over nodes with several NICs costs one hop, as if all channels had one order.
# file: cost/nccl/latency.c
# tests: test_nccl
s/if (one_order) return/if (one_order || comm->nodes > 1) return/
