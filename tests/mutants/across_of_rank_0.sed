# The group across nodes is that of a node's first ranks.
# file: core/plan/coords.c
# tests: test_quantized_traffic
s|m.index = me.dp / plan->node, zero.dp = me.dp % plan->node;|m.index = me.dp / plan->node, zero.dp = 0;|
