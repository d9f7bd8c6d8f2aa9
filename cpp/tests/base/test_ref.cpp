#include "weft/base/ref.h"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

namespace weft::base {
namespace {

struct Thing final : RefCounted<Thing>, Pooled<Thing> {
  explicit Thing(int number = 0) : number(number) { ++alive; }
  ~Thing() { --alive; }
  static void destroy(Thing* thing) noexcept { delete thing; }
  int number;
  inline static int alive = 0;
};

TEST_CASE("the last pointer frees") {
  Ref<Thing> one = make_ref<Thing>(7);
  CHECK(one->use_count() == 1);
  {
    const Ref<Thing> other = one;
    CHECK(one->use_count() == 2);
    CHECK(other == one);
    CHECK((*other).number == 7);
  }
  CHECK(one->use_count() == 1);
  CHECK(Thing::alive == 1);
  one.reset();
  CHECK(Thing::alive == 0);
  CHECK(!one);
}

TEST_CASE("moving counts nothing and leaves nothing behind") {
  Ref<Thing> one = make_ref<Thing>();
  Thing* const thing = one.get();
  Ref<Thing> other = std::move(one);
  CHECK(other.get() == thing);
  CHECK(thing->use_count() == 1);
  CHECK(one == nullptr);
  other = std::move(other);
  CHECK(other.get() == thing);
  CHECK(thing->use_count() == 1);
}

TEST_CASE("what is assigned to itself stays") {
  Ref<Thing> one = make_ref<Thing>();
  one = *&one;
  CHECK(one->use_count() == 1);
  CHECK(Thing::alive == 1);
}

TEST_CASE("a pointer to another thing frees the one before it") {
  Ref<Thing> one = make_ref<Thing>(1);
  one = make_ref<Thing>(2);
  CHECK(one->number == 2);
  CHECK(Thing::alive == 1);
}

TEST_CASE("none of those in use at once share memory, and later ones take it again") {
  for (int round = 0; round < 3; ++round) {
    std::vector<Ref<Thing>> things;
    for (int i = 0; i < 5000; ++i) things.push_back(make_ref<Thing>(i));
    for (int i = 0; i < 5000; i += 2) things[i].reset();
    for (int i = 0; i < 5000; i += 2) things[i] = make_ref<Thing>(-i);
    bool kept = true;
    for (int i = 0; i < 5000; ++i) kept = kept && things[i]->number == (i % 2 ? i : -i);
    CHECK(kept);
  }
  CHECK(Thing::alive == 0);
#ifndef __SANITIZE_ADDRESS__
  Ref<Thing> one = make_ref<Thing>();
  const Thing* const place = one.get();
  one.reset();
  CHECK(make_ref<Thing>().get() == place);
#endif
}

}  // namespace
}  // namespace weft::base
