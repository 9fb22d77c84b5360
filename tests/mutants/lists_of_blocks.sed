# nanotron's lists have a tensor a block.
# file: core/lower/lists.c
# tests: test_one_reduction
s/tensors = l->pp_rank->tensor_count/tensors = l->pp_rank->unit_count/
