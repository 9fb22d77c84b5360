# How many micro-batches an early pipeline has is passed over.
# file: core/interop/torchtitan_pipeline.c
# tests: test_titan_pipeline
s/  SL_TRY(sl_settings_int(&t->s, microbatches_key, 1, SL_MAX_ROWS, &parts));//
