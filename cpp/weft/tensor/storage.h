// Memory of a tensor, with the version that in-place writes bump. Freed blocks are kept for reuse.
#pragma once

#include <cstdint>

#include "weft/base/ref.h"

namespace weft::tensor {

// Memory that somebody else owns (a NumPy array, a DLPack tensor) and how to let go of it.
struct Foreign {
  void* owner = nullptr;  // of large memory that is Weft's: its Block
  void (*release)(void* owner) = nullptr;
  bool read_only = false;
  // These fill a gap.
  bool aliased = false;     // of any storage: tensors have it that are no views of one another
  bool noted = false;       // of any storage: examples of a map read it (graph/shared_writes.h)
  uint32_t counted_by = 0;  // of any storage: the last recorder that counted it
};

class Storage final : public base::RefCounted<Storage>, public base::Pooled<Storage> {
 public:
  // Throws a memory error when there is none. Contents are undefined.
  static base::Ref<Storage> allocate(int64_t bytes);
  static base::Ref<Storage> borrow(void* data, int64_t bytes, Foreign foreign);
  static void destroy(Storage* storage) noexcept;

  char* data() const noexcept { return data_; }
  int64_t bytes() const noexcept { return bytes_; }
  bool is_foreign() const noexcept { return foreign_.release != nullptr; }
  // Whether others can write to it unseen: because it is theirs, or because they were given it.
  bool is_exposed() const noexcept { return exposed > 0 || is_foreign(); }
  bool& aliased() noexcept { return foreign_.aliased; }
  bool& noted() noexcept { return foreign_.noted; }
  uint32_t& counted_by() noexcept { return foreign_.counted_by; }
  bool read_only() const noexcept { return foreign_.read_only; }

  uint32_t exposed = 0;              // how often it is in the hands of NumPy or DLPack
  uint32_t version = 0;              // bumped by each in-place write
  uint32_t written_at = 0;           // source position of the last in-place write
  const void* written_by = nullptr;  // the op of that write, for messages only

 private:
  Storage(char* data, int64_t bytes, Foreign foreign)
      : data_(data), bytes_(bytes), foreign_(foreign) {}
  friend class base::Pooled<Storage>;

  char* data_;
  int64_t bytes_;
  Foreign foreign_;
};

// Bytes in live storages that Weft allocated, and bytes kept for reuse.
int64_t live_bytes();
int64_t peak_bytes();
void reset_peak_bytes();
int64_t cached_bytes();
void release_cached_memory();

}  // namespace weft::tensor
