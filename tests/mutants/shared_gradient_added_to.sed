# A gradient that another value's still stands in is added to without a copy for that one.
# file: core/models/gradients.c
# tests: test_tape
s/return other != v \&\& x->has_gradient/return other < 0 \&\& x->has_gradient/
