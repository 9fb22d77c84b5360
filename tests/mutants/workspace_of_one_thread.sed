# Backwards use the cuBLAS workspace of forwards.
# file: core/plan/workspaces.c
# tests: test_workspaces
s/2 \* cublas/cublas/
