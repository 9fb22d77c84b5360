# A damaged piece is as good as any.
# file: core/checkpoint/verify.c
# tests: test_checkpoint
s/  if (hash == p->hash) return SL_OK;/  if (hash != 0) return SL_OK;/
