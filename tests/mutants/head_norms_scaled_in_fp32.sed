# Under autocast norms of q and k keep their scaled input in fp32.
# file: core/plan/kernels.c
# tests: test_kept
s/  return of_heads \&\& types_of/  return false \&\& of_heads \&\& types_of/
