# Dropout's element index is the row in the micro-batch, not in the global batch.
# file: backend/host/dispatch.c
# tests: grid3d_2
/^static struct sl_dropout row_dropout/,/^}/ s/first_sequence(c->host, c->it)/0/
