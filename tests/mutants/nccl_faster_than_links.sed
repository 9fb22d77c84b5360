# A measured share makes a call faster than its links.
# file: cost/nccl/attained.c
# tests: test_nccl_choice
s/fmin(share \* estimated(nccl, coll, &choice, bytes), /fmax(share * estimated(nccl, coll, \&choice, bytes), 0 * /
