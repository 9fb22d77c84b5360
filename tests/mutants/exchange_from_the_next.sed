# In an exchange a member receives from the one that it sends to.
# file: backend/host/comm.c
# tests: comm_3
s|sending ? step + 1 : n - 1 - step|step + 1|
