# The loss of a fit to published runs is plain least squares.
# file: refit/solve.c
# tests: test_solve
s/return copysign(sqrt(2 \* (sqrt(1 + e \* e) - 1)), e);/return e;/
