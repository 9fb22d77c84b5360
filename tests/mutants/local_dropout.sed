# Dropout's element index is the row in the micro-batch, not in the global batch.
# file: backend/common/call.c
# tests: grid3d_2
/^struct sl_dropout sl_call_dropout/,/^}/ s/first_sequence(c)/0/
