# Dropout's rows are as long as a member's tokens, not as the keys.
# file: kernels/attention_pack.h
# tests: test_kernels_context
s/sl_keys(s) \* sl_keys(s) : 0/s->T * s->T : 0/
