# Gate and up stay apart in frameworks that have one product for both.
# file: core/plan/packing.c
# tests: test_packing
s/f->gated && !f->gate_packed/f->gated && f->gate_packed/
