# The group across nodes is that of a node's first ranks.
# file: core/plan/coords.c
# tests: test_quantized_traffic
s|m.index = own / plan->node, first = own % plan->node;|m.index = own / plan->node, first = 0;|
