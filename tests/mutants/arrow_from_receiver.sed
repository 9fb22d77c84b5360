# An arrow ends under the id of who receives, not of who sends.
# file: core/run/trace_arrows.c
# tests: traces
s/sends ? s->rank : other, sends/s->rank, sends/
