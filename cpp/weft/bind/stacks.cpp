// Fibers come and go by the thousand, and Python maps fresh memory for the frames of each: a system
// call and page faults, which cost more than all else about a fiber. These chunks are used again.
#include <cstddef>
#include <cstdlib>
#include <vector>

#include "weft/bind/python.h"

namespace weft::bind {
namespace {

constexpr size_t chunk_bytes = size_t{16} << 10;  // what Python asks for at a time
// Not all at the same place of a page, where fibers' first frames would share few lines of a cache.
constexpr size_t spacing = chunk_bytes + 45 * size_t{64};
constexpr size_t most_kept = 4096;

PyObjectArenaAllocator below;
std::byte* region;  // holds `most_kept` chunks; those that were never used take no memory
std::vector<void*> kept;

void* take_chunk(void*, size_t bytes) {
  if (bytes != chunk_bytes || kept.empty()) return below.alloc(below.ctx, bytes);
  void* chunk = kept.back();
  kept.pop_back();
  return chunk;
}

void give_chunk(void*, void* chunk, size_t bytes) {
  if (chunk < region || chunk >= region + spacing * most_kept) {
    return below.free(below.ctx, chunk, bytes);
  }
  kept.push_back(chunk);
}

PyObject* keep_stacks(PyObject*, PyObject*) {
  if (below.alloc) Py_RETURN_NONE;
  region = static_cast<std::byte*>(std::malloc(spacing * most_kept));
  if (!region) Py_RETURN_NONE;  // Python's own memory serves as well, more slowly
  for (size_t i = most_kept; i-- > 0;) kept.push_back(region + spacing * i);
  PyObject_GetArenaAllocator(&below);
  PyObjectArenaAllocator ours{nullptr, take_chunk, give_chunk};
  PyObject_SetArenaAllocator(&ours);
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"keep_stacks", keep_stacks, METH_NOARGS, "Keep memory of fibers' frames for other fibers."},
    {},
};

}  // namespace

void define_stacks(PyObject* module) {
  if (PyModule_AddFunctions(module, methods) < 0) throw PythonError{};
}

}  // namespace weft::bind
