# A schedule of pipelines changes the step of a framework that has none.
# file: core/plan/refusals.c
# tests: test_strategy
s/  return !has_pp(q) \&\& strcmp(q->config->sl.schedule, "1f1b") != 0;/  return has_pp(q) \&\& !has_pp(q);/
