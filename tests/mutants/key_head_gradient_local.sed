# Tensor parallel: gradients of the only key head are of a member's own query heads only.
# file: core/plan/layout.c
# tests: families_gemma
/case SL_PART_V:/{n;s/return plan->tp > 1;/return plan->tp > 1 \&\& plan->sequence_parallel;/}
