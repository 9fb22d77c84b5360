# GPTBigCode's one key head is not written.
# file: core/interop/megatron_model_write.c
# tests: test_megatron_model
s/k->groups != NULL || (found \& SL_MEGATRON_ONE_GROUP)/k->groups != NULL || (found \& 0)/
