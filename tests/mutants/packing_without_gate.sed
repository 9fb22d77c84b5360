# Gate and up stay apart in frameworks that have one product for both.
# file: core/plan/packing.c
# tests: test_packing
s/!f->gate_packed/f->gate_packed/
