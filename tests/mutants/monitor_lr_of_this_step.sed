# The monitors' learning rate is that of the step that has ended, not of the next one.
# file: cli/progress.c
# tests: monitor_own
s/sl_config_lr(config, p->applied)/sl_config_lr(config, p->applied - 1)/
