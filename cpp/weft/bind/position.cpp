// Source positions: which line of the user's program runs now, as a number that is cheap to take
// and resolved only when somebody asks.
#include <algorithm>
#include <array>
#include <memory>
#include <unordered_map>
#include <vector>

#include "weft/bind/binding.h"
#include "weft/bind/frames.h"
#include "weft/graph/modes.h"
#include "weft/routine/machine.h"

#if PY_VERSION_HEX < 0x030D0000
#define Py_BUILD_CORE
#include <internal/pycore_frame.h>
#endif

namespace weft::bind {
namespace {

struct Entry {
  PyCodeObject* code;  // kept alive, by each of `known`
  int offset;
  bool operator==(const Entry&) const = default;
};
struct EntryHash {
  size_t operator()(const Entry& entry) const {
    return (reinterpret_cast<size_t>(entry.code) >> 4) * 0x9e3779b97f4a7c15u + entry.offset;
  }
};
std::unordered_map<Entry, graph::Position, EntryHash> known;  // 0 for code of our own

// Entries by number, which is never given again. Programs make functions, and let go of them: once
// there are many more entries than before, those of such functions go.
class Entries {
 public:
  // Null: there is none any more.
  const Entry* find(graph::Position position) const {
    const Block* block = position < count_ ? blocks_[position / block_size].get() : nullptr;
    const Entry* entry = block ? &(*block)[position % block_size] : nullptr;
    return entry && entry->code ? entry : nullptr;
  }
  graph::Position add(const Entry& entry) {
    if (count_ % block_size == 0) blocks_.push_back(std::make_unique<Block>());
    (*blocks_.back())[count_ % block_size] = entry;
    return count_++;
  }
  void remove(graph::Position position) {
    std::unique_ptr<Block>& block = blocks_[position / block_size];
    (*block)[position % block_size] = {};
    const bool empty = std::none_of(block->begin(), block->end(),
                                    [](const Entry& entry) { return entry.code != nullptr; });
    if (empty && position / block_size + 1 < blocks_.size()) block.reset();
  }
  graph::Position count() const { return count_; }

 private:
  static constexpr graph::Position block_size = 64;
  using Block = std::array<Entry, block_size>;
  std::vector<std::unique_ptr<Block>> blocks_;
  graph::Position count_ = 0;
};
Entries entries;
const graph::Position unknown = entries.add({});  // the number 0

constexpr size_t least_known = 2048;
size_t most_known = least_known;
graph::Position first_young = 0;  // errors may still name lines that were new at the last sweep

// Frames of Weft's own Python code are skipped. Its folder, ending in a separator.
std::string own_folder;

bool is_own(PyCodeObject* code) {
  Py_ssize_t length = 0;
  const char* text = PyUnicode_AsUTF8AndSize(code->co_filename, &length);
  if (!text) PyErr_Clear();
  return text && !own_folder.empty() && std::string_view(text, length).starts_with(own_folder);
}

// A few recent answers, before the table: loops ask for the same lines again and again.
struct Recent {
  PyCodeObject* code = nullptr;
  int offset = 0;
  graph::Position position = 0;
};
Recent recent[256];

// Lets go of the entries of functions that nobody has any more.
void sweep() {
  std::unordered_map<PyCodeObject*, Py_ssize_t> holds;
  for (const auto& [entry, position] : known) ++holds[entry.code];
  std::vector<PyCodeObject*> dead;
  size_t old = 0;
  for (auto item = known.begin(); item != known.end();) {
    const auto [entry, position] = *item;
    if (Py_REFCNT(entry.code) > holds[entry.code] || position >= first_young) {
      old += position < first_young;
      ++item;
      continue;
    }
    if (const Entry* found = entries.find(position); found && position) entries.remove(position);
    dead.push_back(entry.code);
    item = known.erase(item);
  }
  std::fill(std::begin(recent), std::end(recent), Recent{});
  first_young = entries.count();
  most_known = known.size() + least_known + old;
  for (PyCodeObject* code : dead) Py_DECREF(code);
}

// Where an instruction begins. During a call that Python 3.11 or 3.12 has learnt to run by itself,
// it stands at the instruction's last cache; before it has, at the instruction.
int start_of_instruction(PyCodeObject* code, int offset) {
  const Object bytes(PyCode_GetCode(code));  // as compiled: caches are zeros
  if (!bytes) PyErr_Clear();
  while (bytes && offset > 0 && PyBytes_AS_STRING(bytes.get())[offset] == 0) offset -= 2;
  return offset;
}

// The position, or 0 for code of our own.
graph::Position intern(PyCodeObject* code, int offset) {
  Recent& slot = recent[((reinterpret_cast<size_t>(code) >> 4) + offset / 2) % std::size(recent)];
  if (slot.code == code && slot.offset == offset) return slot.position;
  if (known.size() >= most_known) [[unlikely]]
    sweep();
  const auto found = known.try_emplace(Entry{code, offset}, 0);
  graph::Position& position = found.first->second;  // stays where it is when others are added
  if (found.second) {
    Py_INCREF(code);
    if (const int start = start_of_instruction(code, offset); start != offset) {
      position = intern(code, start);
    } else if (!is_own(code)) {
      position = entries.add({code, offset});
    }
  }
  slot = {code, offset, position};
  return position;
}

// Where a routine's call is; it keeps that with its code.
graph::Position position_of(const routine::Frame& frame) {
  routine::Routine& routine = *frame.routine;
  if (!routine.source || routine.offsets[frame.place] < 0) return 0;
  constexpr graph::Position unasked = UINT32_MAX;
  if (routine.positions.empty()) routine.positions.assign(routine.code.size(), unasked);
  graph::Position& position = routine.positions[frame.place];
  if (position == unasked) {
    position = intern(static_cast<PyCodeObject*>(routine.source), routine.offsets[frame.place]);
  }
  return position;
}

const routine::Task* innermost_run() { return static_cast<const routine::Task*>(graph::modes.run); }

// Passes on the positions of the routines' calls that began in that frame of Python's.
template <class Visit>
bool walk_runs(const routine::Task*& run, const void* host_frame, const Visit& visit) {
  for (; run && run->host_frame() == host_frame; run = run->outer()) {
    const auto frames = run->frames();
    for (size_t i = frames.size(); i-- > 0;) {
      if (const graph::Position position = position_of(frames[i]); position && visit(position))
        return true;
    }
  }
  return false;
}

// Passes the positions of the running functions on, innermost first, until it returns true.
#if PY_VERSION_HEX < 0x030D0000
// Asking for frame objects would make one for each function that is running.
template <class Visit>
void walk(const Visit& visit) {
  const routine::Task* run = innermost_run();
  const _PyInterpreterFrame* frame = PyThreadState_Get()->cframe->current_frame;
  for (; frame; frame = frame->previous) {
    if (run && walk_runs(run, frame, visit)) return;
    if (_PyFrame_IsIncomplete(const_cast<_PyInterpreterFrame*>(frame))) continue;
    const int offset = _PyInterpreterFrame_LASTI(frame) * static_cast<int>(sizeof(_Py_CODEUNIT));
    const graph::Position position = intern(frame->f_code, offset);
    if (position && visit(position)) return;
  }
  while (run && !walk_runs(run, run->host_frame(), visit)) {
  }
}

bool is_at(graph::Position position) {
  const _PyInterpreterFrame* frame = PyThreadState_Get()->cframe->current_frame;
  if (const routine::Task* run = innermost_run(); run && run->host_frame() == frame)
    return !run->frames().empty() && position_of(run->frames().back()) == position;
  const Entry* entry = entries.find(position);
  return frame && entry && frame->f_code == entry->code &&
         _PyInterpreterFrame_LASTI(frame) * static_cast<int>(sizeof(_Py_CODEUNIT)) == entry->offset;
}
#else
bool is_at(graph::Position) { return false; }

template <class Visit>
void walk(const Visit& visit) {
  const routine::Task* run = innermost_run();
  for (Object frame = Object::borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame())); frame;) {
    if (run && walk_runs(run, frame.get(), visit)) return;
    auto* at = reinterpret_cast<PyFrameObject*>(frame.get());
    const Object code(reinterpret_cast<PyObject*>(PyFrame_GetCode(at)));
    const graph::Position position =
        intern(reinterpret_cast<PyCodeObject*>(code.get()), PyFrame_GetLasti(at));
    if (position && visit(position)) return;
    frame = Object(reinterpret_cast<PyObject*>(PyFrame_GetBack(at)));
  }
  while (run && !walk_runs(run, run->host_frame(), visit)) {
  }
}
#endif

graph::Position capture() {
  graph::Position found = 0;
  walk([&](graph::Position position) {
    found = position;
    return true;
  });
  return found;
}
void capture_all(std::vector<graph::Position>& positions) {
  walk([&](graph::Position position) {
    positions.push_back(position);
    return false;
  });
}

struct Place {
  std::string file;
  int line;
  std::string function;
};

Place resolve(graph::Position position) {
  const Entry* entry = entries.find(position);
  if (!entry) return {"", 0, ""};
  const char* file = PyUnicode_AsUTF8(entry->code->co_filename);
  const char* function = PyUnicode_AsUTF8(entry->code->co_name);
  PyErr_Clear();
  return {file ? file : "?", PyCode_Addr2Line(entry->code, entry->offset),
          function ? function : "?"};
}

std::string resolve_text(graph::Position position) {
  const Place place = resolve(position);
  if (place.line == 0) return "an unknown line";
  return base::text(place.file, ":", place.line);
}

}  // namespace

void warn(PyObject* category, const std::string& text, graph::Position position) {
  const Place at = resolve(position);
  if (PyErr_WarnExplicit(category, text.c_str(), at.file.c_str(), at.line, nullptr, nullptr) < 0)
    throw PythonError{};
}

#if PY_VERSION_HEX < 0x030D0000
const void* python_frame() { return PyThreadState_Get()->cframe->current_frame; }
#else
const void* python_frame() { return PyEval_GetFrame(); }
#endif

void add_traceback(PyObject* code, PyObject* globals, int offset) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  auto* given = reinterpret_cast<PyCodeObject*>(code);
  PyThreadState* thread = PyThreadState_Get();
#if PY_VERSION_HEX < 0x030D0000
  PyFrameObject* frame = PyFrame_New(thread, given, globals, nullptr);
  if (frame && offset >= 0) {
    frame->f_frame->prev_instr = _PyCode_CODE(given) + offset / 2;
    // Who looks at its variables expects cells where the function has its closure's.
    for (int i = given->co_nlocalsplus - given->co_nfreevars; i < given->co_nlocalsplus; ++i)
      frame->f_frame->localsplus[i] = PyCell_New(nullptr);
  }
#else
  // Later ones do not let a frame be told where it is: its code says so.
  const char* name = PyUnicode_AsUTF8(given->co_name);
  const char* file = PyUnicode_AsUTF8(given->co_filename);
  const Object line(reinterpret_cast<PyObject*>(
      PyCode_NewEmpty(file ? file : "?", name ? name : "?", PyCode_Addr2Line(given, offset))));
  PyFrameObject* frame =
      line ? PyFrame_New(thread, reinterpret_cast<PyCodeObject*>(line.get()), globals, nullptr)
           : nullptr;
#endif
  PyErr_Restore(type, value, trace);
  if (!frame) return;
  PyTraceBack_Here(frame);
  Py_DECREF(frame);
}

void define_positions(nb::module_& module) {
  graph::host.position = capture;
  graph::host.is_at = is_at;
  graph::host.positions = capture_all;
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
  module.def("position_count", [] { return known.size(); }, "Return how many lines are known.");
  module.def(
      "position_offset",
      [](graph::Position position) {
        const Entry* entry = entries.find(position);
        return entry ? entry->offset : 0;
      },
      "Return which instruction of its function a position is at.");
  module.def(
      "positions_now",
      [] {
        std::vector<graph::Position> positions;
        capture_all(positions);
        return std::vector<graph::Position>(positions.rbegin(), positions.rend());
      },
      "Return the positions of all running functions of the user, outermost first.");
  module.def("position_now", capture, "Return the position of the user's running line.");
}

}  // namespace weft::bind
