# Octal numbers of YAML 1.1 are read as decimal ones.
# file: core/interop/yaml_scalar.c
# tests: test_yaml
s/forms\[i\].base);/forms[i].base == 8 ? 10 : forms[i].base);/
