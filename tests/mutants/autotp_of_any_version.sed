# AutoTP reads transformers' plans in any version of DeepSpeed.
# file: core/plan/vocabulary.c
# tests: test_vocabulary
s/gathers > 0 \&\& sl_config_since(c, 0, 19, gathers)/gathers > 0/
