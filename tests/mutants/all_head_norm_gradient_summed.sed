# The gradient of a norm over all heads, which every member has whole, is summed over the tp group.
# file: core/plan/layout.c
# tests: families_olmo2
s/ \&\& plan->model->form.qk_norm == SL_QK_NORM_HEAD;/;/
