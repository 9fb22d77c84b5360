# The fast clock takes ends that are whole for ends that are cut.
# file: fast/covers.c
# tests: test_fast_whole
s/if (c->tp > 1 \&\& config->sl.tp_vocab != SL_TP_VOCAB_PARALLEL) return false;//
