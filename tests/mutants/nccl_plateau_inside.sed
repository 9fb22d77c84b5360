# Rings inside one node have the plateau of those between nodes.
# file: cost/nccl/choice.c
# tests: test_nccl_choice
s/comm->nodes > 1 \&\& bytes \/ /comm->nodes > 0 \&\& bytes \/ /
