# What is reduced where it stands is taken for half of its range.
# file: core/place/waits.c
# tests: test_check_any test_overlap test_check
s/range ? op->dim\[2\] \* element : s->bytes/range ? (op->dim[1] + op->dim[2]) \/ 2 * element : s->bytes/
