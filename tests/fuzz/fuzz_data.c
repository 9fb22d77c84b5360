/* Any bytes as a token source, and as an index of one: opening, checking and reading stay inside the file and end in a
 * message or in tokens below the vocabulary. */
#include "core/io/data.h"
#include "core/io/megatron.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  enum { SEQ = 5, VOCAB = 300 };
  struct sl_data data;
  const char *name = size % 2 ? "fuzz.bin" : "fuzz.txt";
  if (sl_data_open_memory(&data, name, bytes, size) == SL_OK) {
    const int64_t count = sl_data_sequences(&data, SEQ);
    int32_t tokens[SEQ], targets[SEQ];
    for (int64_t k = 0; k < count && k < 64; k++) {
      const int64_t i = sl_data_order(count, 1, k);
      if (sl_data_sequence(&data, i, SEQ, VOCAB, tokens, targets) != SL_OK) continue;
      for (int t = 0; t < SEQ; t++)
        if (tokens[t] < 0 || tokens[t] >= VOCAB || targets[t] < 0 || targets[t] >= VOCAB) abort();
    }
    (void)sl_data_check(&data, SEQ, VOCAB);
    sl_data_close(&data);
  }
  sl_error_clear();
  struct sl_file file = {0};
  struct sl_megatron_index index;
  sl_file_borrow(&file, "fuzz.idx", bytes, size);
  if (sl_megatron_index_read(&file, &index) == SL_OK && (index.tokens < 0 || index.documents < -1)) abort();
  sl_error_clear();
  return 0;
}
