# DeepSpeed without ZeRO lets go of its gradients before their flat copy is made.
# file: core/lower/update.c
# tests: test_state_bytes
s/return copies == SL_COPIES_LIST ? SL_BUILD_EMIT(p, held, kept) : SL_OK;/return kept.buffer < 0 ? SL_BUILD_EMIT(p, held, kept) : SL_OK;/
