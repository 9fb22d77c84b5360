# DeepSpeed's stages are spread as evenly as can be.
# file: table/inputs.c
# tests: test_table_frameworks
s/count = room < left ? room : left;/count = (left + stages - i - 1 + 0 * room) \/ (stages - i);/
