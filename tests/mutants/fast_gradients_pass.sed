# Gradients that stay across steps take no memory.
# file: fast/stage.c
# tests: test_fast
s/aligned(whole \* stage->gradient)/0 * aligned(whole * stage->gradient)/
