# Weights share a scale by twice as many.
# file: core/op/quantized.c
# tests: test_quantized_traffic
s|MOST = 8000|MOST = 16000|
