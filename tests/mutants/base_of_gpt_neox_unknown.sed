# Weights of a whole GPT-NeoX, whose names begin with "gpt_neox.", are not found.
# file: core/io/safetensors.c
# tests: test_safetensors
s/"transformer.", "model.", "gpt_neox."/"transformer.", "model."/
