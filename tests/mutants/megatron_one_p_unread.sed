# A model of Megatron-LM's multiplies by weight alone.
# file: core/model/megatron.c
# tests: families_megatron_nemotron
s/SL_BOOL_KEY("layernorm_zero_centered_gamma", form.norms_from_one, false)/SL_BOOL_KEY("layernorm_zero_centered_gamma", form.rms, false)/
