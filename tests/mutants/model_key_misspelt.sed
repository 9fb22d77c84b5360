# A misspelt key of a model is passed over.
# file: core/model/keys.c
# tests: test_model_keys
s/  if (meant == NULL) return SL_OK;/  if (meant != name) return SL_OK;/
