# Formulas take reductions that hide collectives of tensor parallelism for ones that do not.
# file: fast/schedule.c
# tests: test_fast_odd
s/> 5e-3 \* seconds) return false;/> 5e3 * seconds) return false;/
