# In an exchange a member's piece for itself stays where it was.
# file: backend/host/comm.c
# tests: comm_1 quantized_4
s|if (call->moves \& SL_MOVE_EXCHANGE) keep_own(comm, r);||
