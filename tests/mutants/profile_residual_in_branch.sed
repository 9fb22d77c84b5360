# A residual sum counts in the branch before it.
# file: core/run/module_profile.c
# tests: test_module_profile
s|} else if (op->kind == SL_OP_RESIDUAL_FWD) {|} else if (op->kind == SL_OP_COUNT) {|
