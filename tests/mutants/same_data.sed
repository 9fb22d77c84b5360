# Every rank trains on the first rank's sequences.
# file: backend/host/batch.c
# tests: grid3d_2 golden_2
s/return host->coord.dp \* plan->micro_batch \* plan->n_micro + /return /
