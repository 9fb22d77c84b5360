# A LayerNorm under torch.autocast computes in 16 bits.
# file: core/models/transformer.c
# tests: test_autocast_casts test_autocast
/^  case SL_OP_LAYERNORM_FWD:$/d
