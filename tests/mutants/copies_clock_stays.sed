# Nothing more is known at the start of a copied op than a period before.
# file: core/place/copies.c
# tests: test_repeat
s/  sl_clock_advance(clock, step->lane_ops);//
