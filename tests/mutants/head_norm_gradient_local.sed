# Tensor parallel: gradients of the norms of q and k are of a member's own heads only.
# file: core/plan/layout.c
# tests: grid3d_2
s/return plan->tp > 1;/return false;/
