# What torch's pipeline keeps of whole logits is a part of them.
# file: core/lower/messages.c
# tests: test_vocabulary
s/const bool cut = plan->tp_vocab == SL_TP_VOCAB_PARALLEL;/const bool cut = plan->tp > 1;/
