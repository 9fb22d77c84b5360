# A variable made of a doubtful one is certain.
# file: core/interop/shell.c
# tests: test_megatron_names
s/  v->doubt = r->doubt;/  v->doubt = NULL;/
