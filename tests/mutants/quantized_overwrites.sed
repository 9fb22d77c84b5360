# A quantised gradient overwrites what earlier micro-batches left.
# file: backend/common/dispatch.inc
# tests: quantized_4
s|\&shape, c->dim\[3\], c->adds\[SL_AT_OUT\]|\&shape, c->dim[3], 0|
