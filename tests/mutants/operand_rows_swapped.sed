# The rows of an RMSNorm have its statistics before its output, while lowering writes them behind it.
# file: core/op/operands.c
# tests: golden_1
/\[SL_OP_RMSNORM_FWD\]/,/STATS/ { s/R(OUT, WRITE, DATA)/R(SWAPPED)/; s/R(STATS, WRITE, FLOAT32)/R(OUT, WRITE, DATA)/; s/R(SWAPPED)/R(STATS, WRITE, FLOAT32)/ }
