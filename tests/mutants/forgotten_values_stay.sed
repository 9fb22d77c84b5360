# What recomputation forgets is kept all the same.
# file: core/models/tape.c
# tests: test_tape test_kernel_sets
s/if (x->read \&\& !x->forgotten) return true;/if (x->read) return true;/
