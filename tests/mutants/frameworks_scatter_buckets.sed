# DeepSpeed's ZeRO 1 and 2 scatter their buckets unless told otherwise.
# file: core/config/parallel.c
# tests: test_whole_sums
s/    c->zero.multi_rank_allreduce \&= frameworks;/    c->zero.multi_rank_allreduce = false \&\& frameworks;/
