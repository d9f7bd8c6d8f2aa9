// Source positions: which line of the user's program runs now, as a number that is cheap to take
// and resolved only when somebody asks.
#include <unordered_map>
#include <vector>

#include "weft/bind/binding.h"
#include "weft/graph/modes.h"

namespace weft::bind {
namespace {

struct Entry {
  PyCodeObject* code;  // kept alive: entries are few, one for each line that records something
  int offset;
  bool operator==(const Entry&) const = default;
};
struct EntryHash {
  size_t operator()(const Entry& entry) const {
    return (reinterpret_cast<size_t>(entry.code) >> 4) * 0x9e3779b97f4a7c15u + entry.offset;
  }
};
std::vector<Entry> entries(1);
std::unordered_map<Entry, graph::Position, EntryHash> known;

// Frames of Weft's own Python code are skipped. Its folder, ending in a separator; a code object's
// answer is remembered for as long as its file name object lives, which code objects keep.
std::string own_folder;
std::unordered_map<PyObject*, bool> own_files;

bool is_own(PyCodeObject* code) {
  PyObject* name = code->co_filename;
  if (auto found = own_files.find(name); found != own_files.end()) return found->second;
  Py_ssize_t length = 0;
  const char* text = PyUnicode_AsUTF8AndSize(name, &length);
  if (!text) PyErr_Clear();
  const bool own =
      text && !own_folder.empty() && std::string_view(text, length).starts_with(own_folder);
  Py_INCREF(name);
  own_files[name] = own;
  return own;
}

// A few recent answers, before the table: loops ask for the same lines again and again.
struct Recent {
  PyCodeObject* code = nullptr;
  int offset = 0;
  graph::Position position = 0;
};
Recent recent[64];

// The position, or 0 for code of our own.
graph::Position intern(PyCodeObject* code, int offset) {
  Recent& slot = recent[((reinterpret_cast<size_t>(code) >> 4) + offset) & 63];
  if (slot.code == code && slot.offset == offset) return slot.position;
  if (is_own(code)) return 0;
  auto [found, is_new] = known.try_emplace(Entry{code, offset}, graph::Position(entries.size()));
  if (is_new) {
    Py_INCREF(code);
    entries.push_back({code, offset});
  }
  slot = {code, offset, found->second};
  return found->second;
}

graph::Position capture() {
  PyFrameObject* frame = PyEval_GetFrame();
  if (!frame) return 0;
  Py_INCREF(frame);
  graph::Position position = 0;
  while (frame) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    position = intern(code, PyFrame_GetLasti(frame));
    Py_DECREF(code);
    if (position) break;
    PyFrameObject* back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  Py_XDECREF(frame);
  return position;
}

struct Place {
  std::string file;
  int line;
  std::string function;
};

Place resolve(graph::Position position) {
  if (position == 0 || position >= entries.size()) return {"", 0, ""};
  const Entry& entry = entries[position];
  const char* file = PyUnicode_AsUTF8(entry.code->co_filename);
  const char* function = PyUnicode_AsUTF8(entry.code->co_name);
  PyErr_Clear();
  return {file ? file : "?", PyCode_Addr2Line(entry.code, entry.offset), function ? function : "?"};
}

std::string resolve_text(graph::Position position) {
  const Place place = resolve(position);
  if (place.line == 0) return "an unknown line";
  return base::text(place.file, ":", place.line);
}

}  // namespace

void define_positions(nb::module_& module) {
  graph::host.position = capture;
  graph::host.position_text = resolve_text;
  module.def(
      "resolve_position",
      [](graph::Position position) {
        const Place place = resolve(position);
        return nb::make_tuple(place.file, place.line, place.function);
      },
      "Return (file, line, function) of a source position.");
  module.def(
      "set_own_folder", [](std::string folder) { own_folder = std::move(folder); },
      "Name the folder whose frames are skipped.");
  module.def("position_now", capture, "Return the position of the user's running line.");
}

}  // namespace weft::bind
