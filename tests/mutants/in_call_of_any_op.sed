# The flag of a piece is read of every op.
# file: core/op/work.h
# tests: test_sim_cost
s/return (op_class == SL_CLASS_GEMM || op_class == SL_CLASS_COLLECTIVE) \&\& /(void)op_class; return /
