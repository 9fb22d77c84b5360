# The same for attention's dropout.
# file: backend/host/dispatch.c
# tests: grid3d_2
/^static struct sl_attention_shape attention_shape/,/^}/ s/(uint64_t)first_sequence(c->host, c->it) \* heads/(uint64_t)0 * heads/
