# The head stays with the last layers though a rank is left.
# file: core/plan/stages.c
# tests: test_stages
s/counts\[rank\] > 0 \&\& rank + 1 < ranks/false/
