# What would make FSDP fit forgets the stage that parameters in host memory ask for.
# file: cli/changes.c
# tests: test_cli_verdict
s/return s->setup->plan.config->zero.stage != 3 ? with_number(change, "zero-stage", 3) : change;/return s->setup->plan.strategy.zero_stage != 3 ? with_number(change, "zero-stage", 3) : change;/
