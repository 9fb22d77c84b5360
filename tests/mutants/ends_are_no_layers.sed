# The last norm is no layer of its own where ends are dealt to stages.
# file: table/inputs.c
# tests: test_table_frameworks
s/items = r->n_layers + 3;/items = r->n_layers + 2;/
