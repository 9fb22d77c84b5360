# A buffer that takes over a slot and was made before the one that leaves it is numbered apart, without room for it.
# file: core/lower/slots.c
# tests: test_check_any test_kernel_sets
s/    if (first->first_slot < 0) {/    if (head >= 0 \&\& head > i) first = b, first->first_slot = (int32_t)c->slot_count;\n&/
