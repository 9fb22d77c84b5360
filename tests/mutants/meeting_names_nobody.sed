# A rank that waits for all others in vain does not say for whom.
# file: backend/host/wait.c
# tests: faults_stops
s/sl_host_board_tell(host, NULL.*$/others[0] = '\\0';/
