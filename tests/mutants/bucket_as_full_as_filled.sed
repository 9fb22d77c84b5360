# DeepSpeed's bucket buffers hold no more than what fills them.
# file: core/lower/bucket.c
# tests: test_whole_sums
s/    if (largest\[i\] > 0 \&\& largest\[i\] < limit) largest\[i\] = limit;/    if (largest[i] < 0) largest[i] = limit;/
