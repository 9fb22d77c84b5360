# A restart goes on from another training's checkpoint.
# file: cli/recovery.c
# tests: recovery_two
s/  if (sl_owner_is(r->from, r->told.job)) {/  if (r->from != NULL) {/
