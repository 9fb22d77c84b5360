# Pipelines whose messages slow kernels, or whose hosts launch, are taken by formulas that know that only roughly.
# file: fast/covers.c
# tests: test_fast_choice
s/if (pipeline \&\& (rough || stalls)) return false;/(void)rough, (void)stalls;/
