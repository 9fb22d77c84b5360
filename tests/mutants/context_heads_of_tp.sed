# Where heads are exchanged for tokens, the first head that a rank has is that of its tp rank.
# file: backend/common/call.c
# tests: families_context
s/return (cuts > (size_t)plan->tp ? tp \* (size_t)plan->cp + (size_t)c->rank.coord.cp : tp) \* h;/return tp * h;/
