# A rank that looks for work does not say so: all are silent from the job's start.
# file: backend/host/board.c
# tests: hang
s/(int64_t)(now_s \* 1e9)/(int64_t)(now_s * 0)/
