# A product with GELU leaves its argument where its result belongs.
# file: core/models/epilogue.c
# tests: grid3d_1 grid3d_2
s/if (epilogue == SL_OP_GELU) {/if (epilogue == 0) {/
