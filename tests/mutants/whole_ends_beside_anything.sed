# Sequence parallelism goes with an embedding that is whole.
# file: core/plan/vocabulary.c
# tests: test_vocabulary
s/if (c->sl.sequence_parallel) other = /if (false) other = /
