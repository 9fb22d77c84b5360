# A backward reads what the oldest forward of its layer kept, not the newest.
# file: core/models/passes.c
# tests: test_kernel_sets
s/const struct kept k = p->kept\[r->end - 1\];/const struct kept k = p->kept[p->count - r->end];/
