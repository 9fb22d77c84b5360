# A restart is never cut short.
# file: analysis/goodput.c
# tests: test_goodput
s/  } while (t->fails_s < t->now + t->model->restart_s && t->failures <= t->most);/  } while (false);\n  t->fails_s += t->model->restart_s;/
