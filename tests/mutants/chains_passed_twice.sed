# A slot that copies of an open run have passed counts as used in the last of them.
# file: core/place/chains.c
# tests: test_repeat
s/const uint32_t back = place - w->low < copies ? place - w->low : copies;/const uint32_t back = place - w->low < copies ? place - w->low - (place - w->low > 1) : copies;/
