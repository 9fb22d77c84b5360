# A host that launches gets no further ahead than within two micro-batches.
# file: fast/stage.c
# tests: test_fast
s/only ? 1 : setting->n_micro)/only ? 1 : 2)/
