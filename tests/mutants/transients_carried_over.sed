# What a program leaves in buffers that are not persistent counts as written in the next one.
# file: core/check/buffers.c
# tests: test_check
s/if (!k->c->buffers\[x->slot >> 32\].persistent) {/if (x->lo > x->hi) {/
