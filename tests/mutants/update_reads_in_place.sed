# DeepSpeed's update reads the gradients where they are.
# file: core/plan/strategy.c
# tests: test_state_bytes
s/  return s->shard_optimizer ? SL_COPIES_FLAT : SL_COPIES_NONE;/  return SL_COPIES_NONE;/
