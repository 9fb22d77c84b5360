# A sequence length for a model of numbers is passed over without a word.
# file: core/plan/plan.c
# tests: test_cli_truths
s/  warn_without_tokens(plan);/  (void)warn_without_tokens;/
