# The vocabulary is not padded as Megatron-LM pads it.
# file: core/interop/accelerate.c
# tests: test_accelerate_megatron
s/put(a, "shardlab.make_vocab_size_divisible_by", json_integer(SL_ACCELERATE_VOCABULARY));//
