# The gradient of rotary positions is not turned back.
# file: core/models/rope.c
# tests: golden_1
s/if (back) op.flags = SL_OP_INVERSE;/(void)back;/
