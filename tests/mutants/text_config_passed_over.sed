# Of a model that reads images, the whole is looked for among the families.
# file: core/model/model.c
# tests: test_model
s/  return text;/  return in;/
