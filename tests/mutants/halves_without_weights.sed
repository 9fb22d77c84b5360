# All that a framework launches beside a norm's backward is in the input's half.
# file: core/models/passes.c
# tests: test_backward_halves
/^static int part_of/,/^}/{s/whole - weights/whole/;s/? weights : whole/? weights - weights : whole/}
