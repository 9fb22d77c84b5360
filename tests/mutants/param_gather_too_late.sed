# overlap_param_gather gathers a bucket behind the op that reads it.
# file: core/lower/zero.c
# tests: test_param_gather
/pass.gathers/d
/^enum sl_status sl_zero_forward/,/^}/s/if (gathers) sl_gather_after/if (pass.gathers) SL_TRY(sl_ahead_before(l, p, \&drafts->items[i]));\n    if (gathers) sl_gather_after/
