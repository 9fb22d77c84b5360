# What grows with the depth, such as the update, stays as small as in the shallow plan.
# file: fast/stretch.c
# tests: test_fast_stretch
s/own->dim\[i\] + s->times \* (y->dim\[i\] - own->dim\[i\])/own->dim[i]/; s/bytes + s->times \* (sl_op_slices(s->b, y)\[i\].bytes - bytes)/bytes/
