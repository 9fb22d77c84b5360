# The last chunk of the parameters' all_gather leaves out the remainder.
# file: core/lower/update.c
# tests: grid3d_2 golden_2
s/hi = i + 1 == chunks ? part : lo + part \/ chunks;/hi = lo + part \/ chunks;/
