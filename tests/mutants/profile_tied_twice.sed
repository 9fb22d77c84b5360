# A tied head's product counts in the embedding.
# file: core/run/module_profile.c
# tests: test_module_profile
s|t != NULL \&\& t->layer < 0 \&\& op->kind == SL_OP_GEMM|t != NULL \&\& t->layer < 0 \&\& op->kind == SL_OP_COUNT|
