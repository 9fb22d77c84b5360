# Megatron-LM's embedding and loss count as no layers.
# file: table/inputs.c
# tests: test_table_frameworks
s/!even \&\& (r->n_layers + 2) % stages == 0)/!even \&\& (r->n_layers + 2) % stages == 1)/
