# Of a hang every other rank is said to be waited for.
# file: backend/host/board.c
# tests: hang
s/(!silent && !late)/(!silent \&\& !late \&\& rank < 0)/
