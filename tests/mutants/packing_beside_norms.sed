# Norms of q and k read a packed product.
# file: core/plan/packing.c
# tests: test_packing
s/ || m->form.qk_norm != SL_QK_NORM_NONE//
