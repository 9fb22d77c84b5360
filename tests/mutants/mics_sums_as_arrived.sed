# MiCS sums what arrived, not what is kept.
# file: core/lower/reduce.c
# tests: test_hybrid_traffic
s/kept ? sl_home_part(/!kept ? sl_home_part(/
