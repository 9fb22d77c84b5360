# DeepSpeed's tensor parallelism is Megatron-LM's.
# file: core/config/parallel.c
# tests: test_config_parallel test_vocabulary
s/config->sl.tp_vocab = SL_TP_VOCAB_AUTOTP;/config->sl.tp_vocab = SL_TP_VOCAB_PARALLEL;/
