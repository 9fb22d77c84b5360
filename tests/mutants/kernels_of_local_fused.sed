# --no-masked-softmax-fusion of Megatron-LM is not read.
# file: core/interop/megatron.c
# tests: test_megatron
s/apart ? "megatron-unfused" : //
