# The residual stream under torch.autocast is in 16 bits.
# file: core/models/transformer.c
# tests: test_autocast_casts test_autocast
/^  case SL_OP_RESIDUAL_FWD:$/d
