# Of Megatron-LM's sums of gradients in fp32 nothing is said, though fp16 reads as fp16.
# file: core/interop/accelerate_write.c
# tests: test_written
s/  if (w.kind == MEGATRON) name_types(&w);/  if (w.kind == FSDP) name_types(\&w);/
