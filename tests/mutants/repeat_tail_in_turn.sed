# Issues behind those that repeat count as one more of them.
# file: core/program/program.h
# tests: test_repeat
s/    at->turn = 0;/    at->turn += 0;/
