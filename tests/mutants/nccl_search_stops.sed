# The search stops at the first speed that fits.
# file: cost/nccl/graph.c
# tests: test_nccl
s/speed \/ best.inter <= 0.49/speed \/ best.inter <= 0.99/
