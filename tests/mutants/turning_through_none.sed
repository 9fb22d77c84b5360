# Slots that live through no period are copied before all that they meet has been derived twice.
# file: core/place/turning.c
# tests: test_repeat
s/t->unseen = own.through == 0 .*/t->unseen = false;/
s/t->unseen = (kinds\[j\].through & own.through) == 0/t->unseen = kinds[j].through != 0 \&\& own.through != 0 \&\& (kinds[j].through \& own.through) == 0/
