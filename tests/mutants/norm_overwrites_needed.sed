# A branch's gradient overwrites that of a norm's output, which another op still reads.
# file: core/models/norm_fusion.c
# tests: test_norm_fusion
s/if (d->operand\[i\].buffer == buffer) return true;/if (d->operand[i].buffer == buffer) return false;/
