# The head's input is gathered again for its weight's gradient, where torch kept it.
# file: core/models/linear.c
# tests: test_torch_blocks
/node.out\[GATHERED\] = gathered(t, t->values\[out\].layer);/d
