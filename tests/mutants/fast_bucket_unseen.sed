# A bucket that spans more blocks than were lowered is not looked for.
# file: fast/whole.c
# tests: test_fast_whole
s/span = buckets \&\& block > 0 ? (s->bucket + block - 1) \/ block : 1;/span = buckets \&\& block > 0 ? 1 : 1;/
