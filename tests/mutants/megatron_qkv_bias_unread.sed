# add_bias_linear gives q, k and v no bias.
# file: core/model/megatron.c
# tests: families_megatron_groups
s/f->qkv_bias |= f->out_bias, //
