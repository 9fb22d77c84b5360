# What norms add to a variance is the family's default, not what Megatron-LM's arguments say.
# file: core/interop/megatron_model.c
# tests: test_megatron
s/  SL_TRY(put_numbers(\*model, a, form->keys));/  if (shape.vocabulary < 0) SL_TRY(put_numbers(*model, a, form->keys));/
