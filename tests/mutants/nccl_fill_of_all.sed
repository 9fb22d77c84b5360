# All protocols must fill the pipeline of Simple.
# file: cost/nccl/attained.c
# tests: test_nccl_choice test_nccl_published
s/(choice.proto == SL_NCCL_SIMPLE ? attained->fill : 0)/attained->fill/
