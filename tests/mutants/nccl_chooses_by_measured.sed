# NCCL chooses by latencies that were measured, which it cannot know.
# file: cost/nccl/group.c
# tests: test_nccl_group
/return sl_nccl_open(&out->nccl, &comm);/i comm.inside_extra = extra.inside, comm.across_extra = extra.across;
