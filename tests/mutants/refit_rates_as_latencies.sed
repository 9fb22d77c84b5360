# The local model of a fit takes rates for latencies.
# file: refit/solve.c
# tests: test_solve
s/return slope > 0 ? slope \* (ratio - 1) : -slope \* (1 \/ ratio - 1);/return slope * (ratio - 1);/
