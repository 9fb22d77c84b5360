# The fast clock slows hosts down where it takes their costs, and once more where it plays a step.
# file: fast/fast.c
# tests: test_fast_any
s/f->cluster, \&f->costs}/f->cluster, \&f->rank.kernel_costs}/
