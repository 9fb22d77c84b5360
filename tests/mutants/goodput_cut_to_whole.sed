# Fractions where goodput counts are cut: --seed 1.5 is --seed 1.
# file: analysis/goodput_command.c
# tests: goodput
s/ || value != floor(value)))/))/
