/* Compares what the MPI witness counted (tests/witness) with what test_train says that its programs put on the wire,
 * per rank and group. Arguments: the witness's file stem, test_train's scratch stem, ranks. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *load(const char *stem, const char *middle, int rank) {
  char path[4096];
  json_error_t error;
  snprintf(path, sizeof path, "%s%s.%d", stem, middle, rank);
  json_t *doc = json_load_file(path, 0, &error);
  if (!doc) fprintf(stderr, "%s: %s\n", path, error.text), exit(1);
  return doc;
}

/* Bytes given to MPI_Isend over all communicators called `name`. */
static json_int_t sent_over(const json_t *witness, const char *name) {
  json_int_t bytes = 0;
  size_t i;
  json_t *c, *all = json_object_get(witness, "communicators");
  json_array_foreach(all, i, c) {
    if (strcmp(json_string_value(json_object_get(c, "name")), name) != 0) continue;
    json_t *sends = json_object_get(json_object_get(c, "calls"), "MPI_Isend");
    bytes += json_integer_value(json_object_get(sends, "bytes"));
  }
  return bytes;
}

int main(int argc, char **argv) {
  if (argc != 4) return fprintf(stderr, "usage: %s WITNESS SCRATCH RANKS\n", argv[0]), 2;
  int failures = 0;
  json_int_t total = 0;
  for (int rank = 0; rank < atoi(argv[3]); rank++) {
    json_t *witness = load(argv[1], "", rank), *expected = load(argv[2], ".expected", rank), *want;
    const char *group;
    json_object_foreach(expected, group, want) {
      json_int_t sent = sent_over(witness, group), bytes = json_integer_value(want);
      total += sent;
      if (sent == bytes) continue;
      failures++;
      fprintf(stderr, "rank %d, group %s: MPI_Isend saw %lld bytes, the program says %lld\n", rank, group,
              (long long)sent, (long long)bytes);
    }
    json_decref(witness);
    json_decref(expected);
  }
  printf("%s: %lld bytes on all ranks\n", failures || total == 0 ? "FAIL" : "ok", (long long)total);
  return failures || total == 0;
}
