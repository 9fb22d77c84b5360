# All members of tp report the loss of whole logits.
# file: core/models/ends.c
# tests: grid3d_2
s/if (g->tp > 1) op.place_group = SL_GROUP_TP;/if (cut) op.place_group = SL_GROUP_TP;/
