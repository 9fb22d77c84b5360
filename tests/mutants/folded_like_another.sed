# A folded rank puts on the wire what the one that stood for it does.
# file: core/record/record.c
# tests: test_folded_traffic
s/if (!sl_folded_even(&folded, r))/if (r < 0)/
