#include "weft/base/small_vector.h"

#include <doctest/doctest.h>

#include <memory>
#include <random>
#include <vector>

#include "weft/base/errors.h"

namespace weft::base {
namespace {

// An item that knows how many there are, and notices when it is used after it was destroyed.
struct Counted {
  explicit Counted(int given = 0) : number(std::make_unique<int>(given)) { ++alive; }
  Counted(const Counted& other) : Counted(*other.number) {}
  Counted(Counted&& other) noexcept : number(std::exchange(other.number, std::make_unique<int>())) {
    ++alive;
  }
  Counted& operator=(Counted other) noexcept {
    number.swap(other.number);
    return *this;
  }
  ~Counted() { --alive; }
  bool operator==(const Counted& other) const { return *number == *other.number; }
  std::unique_ptr<int> number;
  inline static int alive = 0;
};

int number_of(int item) { return item; }
int number_of(const Counted& item) { return *item.number; }

template <class T, uint32_t N>
bool is_like(const SmallVector<T, N>& tested, const std::vector<int>& expected) {
  if (tested.size() != expected.size() || tested.empty() != expected.empty()) return false;
  size_t i = 0;
  for (const T& item : tested) {
    if (number_of(item) != expected[i++]) return false;
  }
  return i == expected.size() && (expected.empty() || number_of(tested.back()) == expected.back());
}

// Two vectors do by chance what vectors of the standard library do.
template <class T, uint32_t N>
void compare_with_standard(uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](size_t end) { return static_cast<size_t>(random() % end); };
  SmallVector<T, N> a, b;
  std::vector<int> x, y;
  for (int step = 0; step < 3000; ++step) {
    const int number = static_cast<int>(below(1000));
    switch (below(14)) {
      case 0:
      case 1:
      case 2:
        a.push_back(T(number));
        x.push_back(number);
        break;
      case 3:
        if (!x.empty()) a.push_back(a[0]), x.push_back(int{x[0]});  // which may move meanwhile
        break;
      case 4:
        if (!x.empty()) a.pop_back(), x.pop_back();
        break;
      case 5: {
        const size_t at = below(x.size() + 1);
        a.insert(at, T(number));
        x.insert(x.begin() + static_cast<long>(at), number);
        break;
      }
      case 6:
        if (!x.empty()) {
          const size_t at = below(x.size());
          a.erase(at);
          x.erase(x.begin() + static_cast<long>(at));
        }
        break;
      case 7: {
        const size_t count = below(2 * N + 2);
        a.resize(count, T(number));
        x.resize(count, number);
        break;
      }
      case 8:
        b = a;
        y = x;
        break;
      case 9:
        a = std::move(b);
        x = y;
        b.clear();
        y.clear();
        break;
      case 10:
        std::swap(a, b);
        std::swap(x, y);
        break;
      case 11:
        a = *&a;  // of itself
        break;
      case 12: {
        SmallVector<T, N> copy(a), moved(std::move(a));
        CHECK((copy == moved));
        a = copy;
        break;
      }
      default:
        if (below(8) == 0) a.clear(), x.clear();
    }
    REQUIRE(is_like(a, x));
    REQUIRE(is_like(b, y));
    REQUIRE((a == b) == (x == y));
  }
}

TEST_CASE("it does what a vector does: plain items, copied as a whole") {
  for (uint32_t seed = 0; seed < 5; ++seed) compare_with_standard<int, 4>(seed);
}

TEST_CASE("it does what a vector does: plain items, more than are copied as a whole") {
  for (uint32_t seed = 0; seed < 5; ++seed) compare_with_standard<int, 20>(seed);
}

TEST_CASE("it does what a vector does: items with memory of their own") {
  for (uint32_t seed = 0; seed < 5; ++seed) {
    compare_with_standard<Counted, 1>(seed);
    compare_with_standard<Counted, 3>(seed);
  }
  CHECK(Counted::alive == 0);
}

TEST_CASE("as many as it has room for lie inside it") {
  SmallVector<int, 3> items{1, 2, 3};
  const auto is_inside = [&] {
    const auto* at = reinterpret_cast<const char*>(items.data());
    const auto* begin = reinterpret_cast<const char*>(&items);
    return at >= begin && at < begin + sizeof(items);
  };
  CHECK(is_inside());
  items.push_back(4);
  CHECK(!is_inside());
  const int* data = items.data();
  const SmallVector<int, 3> taken(std::move(items));
  CHECK(taken.data() == data);  // not copied
}

TEST_CASE("many items move only a few times") {
  SmallVector<int, 2> items;
  int moves = 0;
  for (int i = 0; i < 1000; ++i) {
    const int* const before = items.data();
    items.push_back(i);
    moves += items.data() != before;
  }
  CHECK(moves < 12);
}

TEST_CASE("it prints as Python prints a tuple") {
  CHECK(text(SmallVector<int, 2>{}) == "()");
  CHECK(text(SmallVector<int, 2>{4}) == "(4,)");
  CHECK(text(SmallVector<int, 2>{2, 3, 5}) == "(2, 3, 5)");
}

}  // namespace
}  // namespace weft::base
