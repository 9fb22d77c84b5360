# The same for attention's dropout.
# file: backend/common/call.c
# tests: grid3d_2
/^struct sl_attention_shape sl_call_attention/,/^}/ s/first_sequence(c) \* heads/(uint64_t)0 * heads/
