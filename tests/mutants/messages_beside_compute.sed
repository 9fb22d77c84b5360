# Messages of a framework that blocks run beside the ops behind them.
# file: core/lower/step.c
# tests: test_blocking_messages
s/SL_OP_AFTER_COMPUTE | SL_OP_IN_TURN | SL_OP_BLOCKING/SL_OP_AFTER_COMPUTE | SL_OP_IN_TURN/
