# AutoTP cuts a head that is the embedding.
# file: core/plan/vocabulary.c
# tests: test_vocabulary
s/reads_plan \&\& !plan->model->tied_head ?/reads_plan ?/
