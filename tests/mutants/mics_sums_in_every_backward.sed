# MiCS sums over replicas after every micro-batch, though gradients go on adding up.
# file: core/lower/reduce.c
# tests: test_hybrid_traffic
s/const bool adds = sums_kept(l) || (l->homes->arrived/const bool adds = (l->homes->arrived/
