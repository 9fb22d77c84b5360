# Tensor parallel: gradients of the norms of q and k are of a member's own heads only.
# file: core/plan/layout.c
# tests: families_qwen3
s/    return plan->tp > 1 \&\& by_head;/    return false;/
