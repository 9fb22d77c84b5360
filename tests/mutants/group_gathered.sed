# What is asked for of a second parameter group is gathered with the dense parameters, over their ranks.
# file: core/lower/gather.c
# tests: test_groups
s/ || unit_of(l, unit)->group != group) continue;/ || group > 0) continue;/
