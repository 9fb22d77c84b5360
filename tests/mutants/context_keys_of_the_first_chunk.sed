# A block of queries reads keys as if its tokens were a whole sequence: those before its second chunk end too early.
# file: kernels/attention_pack.h
# tests: test_kernels_context
s/sl_round_up(sl_position(&s->at, end - 1) + 1, SL_ATTENTION_BLOCK)/sl_round_up(end, SL_ATTENTION_BLOCK)/
