# A host that is behind calls reductions as soon as their gradients are complete.
# file: fast/reduce.c
# tests: test_fast
s/w->ready, w->hosted + w->host,/w->ready, -INFINITY,/
