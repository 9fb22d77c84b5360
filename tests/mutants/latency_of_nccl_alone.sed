# A measured latency of a link has no effect on NCCL's rings.
# file: cost/collective.c
# tests: test_nccl_group
s/= link->\(inside\|across\)_extra/= 0/
