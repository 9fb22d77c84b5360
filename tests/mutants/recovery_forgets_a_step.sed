# A run that goes on after a restart leaves out its first step.
# file: core/checkpoint/history.c
# tests: recovery_two
s/for (size_t i = from; i < json_array_size(list)/for (size_t i = from + 1; i < json_array_size(list)/
