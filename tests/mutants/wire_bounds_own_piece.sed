# What a member of a ring sends changes only at the members that own other pieces, not at those before them.
# file: core/op/wire.c
# tests: test_wire
s/for (int64_t m = member - 1; m <= member; m++)/for (int64_t m = member; m <= member; m++)/
