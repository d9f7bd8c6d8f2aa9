#include "weft/schedule/explain.h"

#include <doctest/doctest.h>

#include "tests/recording.h"
#include "weft/graph/strand.h"

namespace weft::schedule {
namespace {

using graph::Value;
using graph::Values;
using tests::at_line;
using tests::counting;

std::vector<std::string> notes_on(const Values& values) {
  graph::close_strand();
  const Work work = collect(graph::tape(), values);
  return explain(work, batch(work.items));
}

TEST_CASE_FIXTURE(tests::Lazily, "what differs at one line is named") {
  Values values;
  for (int64_t size : {3, 4, 3, 5}) values.push_back(ops::exp(counting({size}, 2)));
  CHECK(notes_on(values) ==
        std::vector<std::string>{"", "apart: the shape of input differs: (3,) and (4,)",
                                 "apart: the shape of input differs: (3,) and (5,)"});
}

TEST_CASE_FIXTURE(tests::Lazily, "other ops and other lines need no reason") {
  const Value x = counting({3});
  const Value a = ops::exp(x), b = ops::sin(x);
  at_line(2);
  const Value c = ops::exp(counting({4}));
  CHECK(notes_on({a, b, c}) == std::vector<std::string>{"", "", ""});
}

TEST_CASE_FIXTURE(tests::Lazily, "levels of one type need no reason") {
  const Value a = ops::exp(counting({3})), b = ops::exp(a);
  CHECK(notes_on({b}) == std::vector<std::string>{"", ""});
}

TEST_CASE_FIXTURE(tests::WithStrands, "strands part where their ops do") {
  const auto example = [](float step, bool other_way) {
    at_line(1);
    const Value a = ops::exp(counting({3}, step));
    at_line(2);
    const Value b = other_way ? ops::cos(a) : ops::sin(a);
    at_line(3);
    return ops::neg(b);
  };
  const std::vector<std::string> notes = notes_on({example(1, false), example(2, true)});
  CHECK(std::count(notes.begin(), notes.end(), "apart: only one goes on with sin") +
            std::count(notes.begin(), notes.end(), "apart: only one began a strand") ==
        1);
}

}  // namespace
}  // namespace weft::schedule
