# A name that is near to an argument that is given, too, is refused.
# file: core/interop/megatron_account.c
# tests: test_megatron_names
s/ != NULL && sl_arguments_find(asked->arguments, near) != NULL) near/ != NULL \&\& asked == NULL) near/
