# DeepSpeed's buckets beside whole gradients stay for the update.
# file: core/lower/bucket.c
# tests: test_whole_sums
s/&l->homes->beside, SL_SCOPE_MICRO/\&l->homes->beside, SL_SCOPE_PERSISTENT/
