# A norm takes in a residual whose mask is stored, and the mask is not.
# file: core/models/norm_fusion.c
# tests: test_norm_fusion
s/ || before->op.flags & SL_OP_MASK//
