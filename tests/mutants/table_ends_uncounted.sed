# DeepSpeed's pipeline does not count its ends as layers.
# file: table/inputs.c
# tests: test_table_frameworks
s/room = most - ends \* ((i == 0) + (i == stages - 1))/room = most - ends * (i < 2)/
