# The norm of the only key head is taken over as many copies of it as there are ranks.
# file: core/models/decoder.c
# tests: families_olmo2_one_key
s/    if (sl_model_shares_key_head(t->g.l->plan->model))/    if (t->g.l->plan->model->n_kv_head == 0)/
