# A collective is finished for its first member alone.
# file: core/check/rendezvous.c
# tests: test_check
s/for (int i = 0; i < c->count; i++) finish(m/for (int i = 0; i < 1; i++) finish(m/
