# Where logits are gathered, a tied embedding is whole, though the head is cut.
# file: core/plan/cut.c
# tests: test_vocabulary
s/const bool untied = !plan->model->tied_head;/const bool untied = true;/
