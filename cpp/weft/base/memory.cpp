#include <sys/mman.h>

#include <cstdlib>
#include <new>

#include "weft/base/ref.h"

namespace weft::base {

void* take_for_good(std::size_t bytes) {
  constexpr std::size_t chunk_bytes = std::size_t{1} << 21;  // a large page
  static char* chunk_end = nullptr;
  static std::size_t left = 0, chunks = 0;
  const std::size_t whole_lines = (bytes + 63) / 64 * 64;
  if (whole_lines > left) {
    void* chunk = std::aligned_alloc(chunk_bytes, chunk_bytes);
    if (chunk == nullptr) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    // Enough for a batch. More is a long graph, walked once: there their first touch costs more.
    if (++chunks <= 32) madvise(chunk, chunk_bytes, MADV_HUGEPAGE);
#endif
    chunk_end = static_cast<char*>(chunk) + chunk_bytes;
    left = chunk_bytes;
  }
  left -= whole_lines;
  return chunk_end - left - whole_lines;
}

}  // namespace weft::base
