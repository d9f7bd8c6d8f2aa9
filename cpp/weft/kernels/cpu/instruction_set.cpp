#include "weft/kernels/instruction_set.h"

#include "weft/kernels/cpu/isa.h"

namespace weft::kernels {

namespace {

struct NameTable {
  const char* name;
};

}  // namespace

// Chosen as the tables of kernels are.
WEFT_CHOOSE(NameTable, name_table)

#ifdef __x86_64__
const NameTable isa_default::name_table{"x86-64"};
const NameTable isa_v3::name_table{"x86-64-v3"};
const NameTable isa_v4::name_table{"x86-64-v4"};
#else
const NameTable isa_default::name_table{"default"};
#endif

const char* instruction_set() { return name_table().name; }

}  // namespace weft::kernels
