# Experts of a dense family are passed over.
# file: core/model/keys.c
# tests: test_model_keys
s/  SL_TRY(refuse_experts(in));/  (void)refuse_experts;/
