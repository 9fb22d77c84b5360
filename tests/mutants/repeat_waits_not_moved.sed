# What is stored once waits for the ops of its first run.
# file: core/program/program.h
# tests: test_repeat
s/w.count + at.turn \* program->repeated.lane_ops\[w.lane\]/w.count/
