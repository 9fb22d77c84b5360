# An embedding that every member of tp shall have whole is cut all the same.
# file: core/plan/cut.c
# tests: test_vocabulary
s/return plan->tp_vocab == SL_TP_VOCAB_WHOLE || /return false || /
