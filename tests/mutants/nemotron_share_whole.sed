# Nemotron turns whole heads unless it is told otherwise.
# file: core/model/nemotron.c
# tests: families_nemotron
s/.rotary = {.default_share = 0.5,/.rotary = {.default_share = 1,/
