# comms_logger.prof_ops is not read: without prof_all every call is logged.
# file: cli/progress.c
# tests: test_config_effect
s|bool named = config->comms_logger.prof_all;|bool named = true;|
