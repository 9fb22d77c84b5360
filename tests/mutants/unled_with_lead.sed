# What a host without a lead needs is found with its lead.
# file: core/place/reserve.c
# tests: test_reserve
s/SL_GO(find_ends(&r, 0));/SL_GO(find_ends(\&r, lead));/
