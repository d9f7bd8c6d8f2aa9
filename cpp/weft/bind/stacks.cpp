// Fibers come and go by the thousand, and Python maps fresh memory for the frames of each: a system
// call and page faults, which cost more than all else about a fiber. Chunks of that size are kept
// and given again.
#include <vector>

#include "weft/bind/python.h"

namespace weft::bind {
namespace {

constexpr size_t chunk_bytes = size_t{16} << 10;  // what Python asks for at a time
constexpr size_t most_kept = 1024;

PyObjectArenaAllocator below;
std::vector<void*> kept;

void* take_chunk(void*, size_t bytes) {
  if (bytes != chunk_bytes || kept.empty()) return below.alloc(below.ctx, bytes);
  void* chunk = kept.back();
  kept.pop_back();
  return chunk;
}

void give_chunk(void*, void* chunk, size_t bytes) {
  if (bytes == chunk_bytes && kept.size() < most_kept) {
    kept.push_back(chunk);
  } else {
    below.free(below.ctx, chunk, bytes);
  }
}

PyObject* keep_stacks(PyObject*, PyObject*) {
  if (!below.alloc) {
    kept.reserve(most_kept);
    PyObject_GetArenaAllocator(&below);
    PyObjectArenaAllocator ours{nullptr, take_chunk, give_chunk};
    PyObject_SetArenaAllocator(&ours);
  }
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
