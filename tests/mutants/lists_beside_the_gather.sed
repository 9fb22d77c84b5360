# What a framework copies behind a gather into lists waits for no gather.
# file: core/lower/update.c
# tests: test_one_reduction
s/if (into_lists) SL_TRY(sl_lists_open(l, p));/if (into_lists) { SL_TRY(sl_lists_open(l, p)); SL_TRY(sl_lists_close(l, p)); }/
s/return into_lists ? sl_lists_close(l, p) : SL_OK;/return SL_OK;/
