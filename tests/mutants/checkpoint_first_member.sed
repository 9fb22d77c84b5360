# Every tensor-parallel rank reads the first one's moments.
# file: core/checkpoint/restore.c
# tests: test_checkpoint
s/cut.members > 1 ? at.tp : 0, where.first/0, where.first/
