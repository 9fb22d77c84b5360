# DeepSpeed adds bf16 gradients up in bf16.
# file: table/frameworks.c
# tests: test_table_frameworks
s/if (named == MEGATRON_DEEPSPEED \&\& strcmp(row->precision, "bf16") == 0)/if (false)/
