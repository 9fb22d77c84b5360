# Of rows of q, k and v in groups only the first group is split as one.
# file: backend/common/call.c
# tests: families_context
s/return by_group(c) ? key_heads : 1;/return by_group(c) ? 1 : (key_heads > 0);/
