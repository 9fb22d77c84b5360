# Behind copied periods, the clock of an op in front of them is looked for where that of a later one is.
# file: core/place/linker.h
# tests: test_repeat
s/return op < k->kept.lane_ops\[lane\] ? op : /return /
