# A failure leaves a checkpoint whose write it cut short.
# file: analysis/goodput.c
# tests: test_goodput
s/^  t->taken = t->done;$/  t->done = t->taken;/
