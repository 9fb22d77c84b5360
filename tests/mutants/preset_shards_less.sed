# ZeroRedundancyOptimizer's next preset is DDP, which shards nothing.
# file: core/plan/presets.c
# tests: test_strategy
s/"fsdp2-no-reshard",\( *\)"DDP gradients/"ddp",\1"DDP gradients/
