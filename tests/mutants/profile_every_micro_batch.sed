# The profile of a forward adds up those of all micro-batches.
# file: core/run/module_profile.c
# tests: test_module_profile
s|n->action.kind == SL_ACTION_FORWARD \&\& n->micro_batch == 0|n->action.kind == SL_ACTION_FORWARD|
