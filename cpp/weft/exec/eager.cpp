#include "weft/exec/eager.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "weft/graph/op.h"
#include "weft/graph/program.h"
#include "weft/kernels/map.h"

namespace weft::exec {
namespace {

using graph::Call;
using graph::Instruction;
using graph::Program;
using graph::Run;
using tensor::Array;
using tensor::DType;
using tensor::Lane;

// Up to here an op's operands fit in a few cache lines, and its cost is all overhead.
constexpr int64_t small_count = 512;

// Hands out tiles of scratch memory, on the stack, for one small op or Program.
class Tiles {
 public:
  Tiles(Lane lane, int64_t count)
      : lane_(lane), count_(count), step_((count * tensor::lane_size(lane) + 63) & ~int64_t{63}) {}

  // Null when the scratch memory is used up.
  char* take() {
    if (used_ + step_ > static_cast<int64_t>(sizeof scratch_)) return nullptr;
    return scratch_ + std::exchange(used_, used_ + step_);
  }

  // Memory with the operand in the lane's type, in order; null if that takes more than a look.
  const void* operand(const Array& array, const Array& out) {
    if (array.dtype == tensor::dtype_of(lane_) && array.sizes == out.sizes &&
        array.is_contiguous()) {
      return array.data();
    }
    if (!is_one_number(array, out)) return nullptr;
    char* tile = take();
    if (!tile) return nullptr;
    if (lane_ == Lane::f32) return spread<float>(array, tile);
    if (lane_ == Lane::f64) return spread<double>(array, tile);
    return tensor::is_floating(array.dtype) ? nullptr : spread<int64_t>(array, tile);
  }

 private:
  // A 0-d array, or one that was stretched to the output's shape.
  static bool is_one_number(const Array& array, const Array& out) {
    if (array.sizes.empty()) return true;
    if (array.sizes != out.sizes) return false;
    for (int64_t stride : array.strides) {
      if (stride != 0) return false;
    }
    return array.count() > 0;
  }

  template <class T>
  const void* spread(const Array& number, char* tile) const {
    T value;
    switch (number.dtype) {
      case DType::f32:
        value = static_cast<T>(*number.as<float>());
        break;
      case DType::f64:
        value = static_cast<T>(*number.as<double>());
        break;
      case DType::i64:
        value = static_cast<T>(*number.as<int64_t>());
        break;
      default:
        return nullptr;
    }
    return std::fill_n(reinterpret_cast<T*>(tile), count_, value), tile;
  }

  Lane lane_;
  int64_t count_;
  int64_t step_;
  int64_t used_ = 0;
  alignas(64) char scratch_[1 << 15];
};

bool is_small(const Array& out, Lane lane) {
  return out.dtype == tensor::dtype_of(lane) && out.count() <= small_count && out.is_contiguous();
}

// Small contiguous operands (and numbers) go straight to the block loop. False: not such a case.
bool run_small(int formula, Lane lane, const Call& call, const Array& out) {
  if (!is_small(out, lane)) return false;
  const int64_t count = out.count();
  Tiles tiles(lane, count);
  const void* pointers[4];
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    pointers[i] = tiles.operand(call.in(i), out);
    if (!pointers[i]) return false;
  }
  kernels::block_function(formula, lane)(out.data(), pointers, count);
  return true;
}

// A Program's map form, and which of its inputs and constants it reads.
struct CompiledMap {
  kernels::MapProgram map;
  std::vector<int> inputs;  // slots of the Program, below input_count + constants
  // For small operands: each step's loop, and the output whose memory takes its result, or -1.
  std::vector<kernels::BlockFunction> blocks;
  std::vector<int> targets;
};

// The same for a whole Program: each step's result is a tile, or the output's own memory.
bool run_small(const CompiledMap& compiled, std::span<const Array* const> inputs,
               std::span<const Array* const> outputs) {
  const kernels::MapProgram& map = compiled.map;
  for (const Array* out : outputs) {
    if (!is_small(*out, map.lane)) return false;
  }
  constexpr size_t most_slots = 32;
  if (map.steps.size() + inputs.size() > most_slots) return false;
  const int64_t count = outputs[0]->count();
  Tiles tiles(map.lane, count);
  const void* slots[most_slots];
  size_t next = 0;
  for (const Array* input : inputs) {
    slots[next] = tiles.operand(*input, *outputs[0]);
    if (!slots[next++]) return false;
  }
  for (size_t i = 0; i < map.steps.size(); ++i) {
    const kernels::MapStep& step = map.steps[i];
    const int target = compiled.targets[i];
    void* result = target >= 0 ? outputs[target]->data() : tiles.take();
    if (!result) return false;
    const void* pointers[4];
    for (int k = 0; k < step.input_count; ++k) pointers[k] = slots[step.inputs[k]];
    compiled.blocks[i](result, pointers, count);
    slots[next++] = result;
  }
  const int64_t bytes = count * tensor::lane_size(map.lane);
  for (size_t k = 0; k < outputs.size(); ++k) {
    // An output that is an input, or that stands twice.
    const void* source = slots[map.outputs[k]];
    if (source != outputs[k]->data()) std::memcpy(outputs[k]->data(), source, bytes);
  }
  return true;
}

void run_formula(Call& call) {
  const Array& out = call.outputs[0];
  const Lane lane = tensor::lane_of(call.compute);
  if (run_small(call.op.formula, lane, call, out)) return;
  base::SmallVector<Array, 4> inputs;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    inputs.push_back(call.in(i).sizes == out.sizes ? call.in(i) : call.in(i).expand(out.sizes));
  }
  kernels::run_formula(call.op.formula, lane, inputs, out);
}

std::shared_ptr<const CompiledMap> compile(const Program& program) {
  auto result = std::make_shared<CompiledMap>();
  const int border = program.input_count + static_cast<int>(program.constants.size());
  std::vector<int> renamed(program.slot_count, -1);
  auto use = [&](int slot) {
    if (slot < border && renamed[slot] < 0) {
      renamed[slot] = static_cast<int>(result->inputs.size());
      result->inputs.push_back(slot);
    }
  };
  for (const Instruction& instruction : program.instructions) {
    for (int slot : instruction.inputs) use(slot);
  }
  for (int slot : program.outputs) use(slot);
  result->map.input_count = static_cast<uint8_t>(result->inputs.size());
  int next = static_cast<int>(result->inputs.size());
  if (!program.instructions.empty()) {
    result->map.lane = tensor::lane_of(program.instructions[0].compute);
  }
  for (const Instruction& instruction : program.instructions) {
    kernels::MapStep step{static_cast<int16_t>(instruction.op->formula), {}, 0};
    for (int slot : instruction.inputs) {
      step.inputs[step.input_count++] = static_cast<uint8_t>(renamed[slot]);
    }
    renamed[instruction.first_output] = next++;
    result->map.steps.push_back(step);
  }
  for (int slot : program.outputs)
    result->map.outputs.push_back(static_cast<uint8_t>(renamed[slot]));
  for (size_t i = 0; i < result->map.steps.size(); ++i) {
    const kernels::MapStep& step = result->map.steps[i];
    const auto& outputs = result->map.outputs;
    const auto found = std::find(outputs.begin(), outputs.end(), result->inputs.size() + i);
    result->targets.push_back(found == outputs.end() ? -1
                                                     : static_cast<int>(found - outputs.begin()));
    result->blocks.push_back(kernels::block_function(step.formula, result->map.lane));
  }
  return result;
}

class Eager : public graph::Executor {
 public:
  void run(Call& call) const override {
    const Run& run = call.op.run;
    if (run.kind != Run::Kind::by_value) {
      for (Array& out : call.outputs) {
        if (!out.storage)
          out.storage = tensor::Storage::allocate(out.count() * item_size(out.dtype));
      }
    }
    if (run.kind == Run::Kind::formula) {
      run_formula(call);
    } else {
      run.kernel(call);
    }
  }

  void run_fused(const Program& program, std::span<const Array* const> inputs,
                 std::span<const Array* const> outputs) const override {
    if (!program.compiled) program.compiled = compile(program);
    const auto& compiled = *static_cast<const CompiledMap*>(program.compiled.get());
    base::SmallVector<const Array*, 8> operands;
    for (int slot : compiled.inputs) {
      operands.push_back(slot < program.input_count
                             ? inputs[slot]
                             : &program.constants[slot - program.input_count].array());
    }
    if (run_small(compiled, operands, outputs)) return;
    const tensor::Dims& sizes = outputs[0]->sizes;
    base::SmallVector<Array, 6> expanded, results;
    for (const Array* array : operands) {
      expanded.push_back(array->sizes == sizes ? *array : array->expand(sizes));
    }
    for (const Array* array : outputs) results.push_back(*array);
    kernels::run_map(compiled.map, expanded, results);
  }
};

}  // namespace

const graph::Executor& eager() {
  static const Eager executor;
  return executor;
}

}  // namespace weft::exec
