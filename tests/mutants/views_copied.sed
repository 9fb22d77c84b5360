# Gradients that are views of DDP's buckets are copied all the same.
# file: core/plan/strategy.c
# tests: test_reducer
s/ && dp > 1 && !config->sl.bucket_view;/ \&\& dp > 1;/
