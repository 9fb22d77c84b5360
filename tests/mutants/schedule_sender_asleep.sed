# A sender that waits for its receiver is not looked at again when the receiver gets there.
# file: core/schedule/run.c
# tests: test_schedule
s/if (head->kind == SL_ACTION_RECV_F || head->kind == SL_ACTION_RECV_B) wake_rank_of.*$/(void)head;/
