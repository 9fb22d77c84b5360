/* Any text as a checkpoint's manifest: it is refused with a message, or every element of its tensors stands in one of
 * their pieces. */
#include "core/checkpoint/manifest.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void look(const struct sl_manifest *m, const struct sl_manifest_tensor *t, int64_t logical) {
  const struct sl_cut_place at = sl_cut_find(&t->cut, logical);
  const struct sl_manifest_piece *p = sl_manifest_piece_at(m, t, at.member, at.local);
  if (p < &m->pieces[t->first_piece] || p >= &m->pieces[t->first_piece + t->piece_count]) abort();
  if (p->member != at.member || at.local < p->first || at.local >= p->first + p->count) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  struct sl_manifest m;
  if (sl_manifest_parse(&m, "fuzz", (const char *)bytes, size) == SL_OK) {
    for (int i = 0; i < m.tensor_count; i++) {
      const struct sl_manifest_tensor *t = &m.tensors[i];
      if (sl_manifest_find(&m, t->name, t->role) != t) abort();
      for (int k = 0; k < 16; k++) look(&m, t, t->numel / 16 * k);
      look(&m, t, t->numel - 1);
    }
    sl_manifest_free(&m);
  }
  sl_error_clear();
  return 0;
}
