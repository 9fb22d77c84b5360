# A restart goes on from another training's checkpoint.
# file: cli/recovery.c
# tests: recovery_two
s/  if (sl_owner_of(r->from, r->told.job) != SL_OWNER_OTHER) {/  if (r->from != NULL) {/
