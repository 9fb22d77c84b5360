# A fork's own pretrain_llama.py is read as pretrain_gpt.py, without --model too.
# file: core/interop/megatron.c
# tests: test_megatron_forks
s/^    if (pretrains \&\& wants_model)$/    if (pretrains \&\& wants_model \&\& length > 4096)/
