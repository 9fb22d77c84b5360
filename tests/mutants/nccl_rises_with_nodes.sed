# The bandwidth of a node rises with the number of nodes.
# file: cost/nccl/attained.c
# tests: test_nccl_choice test_nccl_published
s/pow(nodes, -attained->fall)/pow(nodes, attained->fall)/
