# AutoTP gathers the head of every family.
# file: core/plan/vocabulary.c
# tests: test_vocabulary
s/gathers > 0 \&\& sl_config_since/sl_config_since/
