# The gradient of a whole head's input is summed over the members, who all have it.
# file: core/models/linear.c
# tests: test_vocabulary grid3d_2
s/return g->tp == 1 || (n->kind == HEAD.*$/return g->tp == 1 \&\& n->kind <= HEAD;/
