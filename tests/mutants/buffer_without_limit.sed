# A buffer may have any number of elements.
# file: core/lower/build.c
# tests: test_limits
s/if (count > SL_MAX_ELEMENTS)/if (count < 0)/
