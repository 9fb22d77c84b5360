# What one lane has waited for counts as waited for by all.
# file: backend/cuda/events.c
# tests: test_cuda_events
s/&lanes->waited\[op->lane\]\[wait->lane\]/\&lanes->waited[0][wait->lane]/
