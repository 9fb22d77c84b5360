# A bias gradient that a product's epilogue makes overwrites what earlier micro-batches left.
# file: core/lower/bind.c
# tests: grid3d_1 grid3d_2
s/ \&\& !(overwrites \&\& sl_bind_adds(l, d->operand\[i\].placed));/;/
