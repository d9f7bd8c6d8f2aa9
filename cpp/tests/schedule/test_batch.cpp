#include "weft/schedule/batch.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>

namespace weft::schedule {
namespace {

struct Item {
  int32_t type;
  std::vector<int32_t> needs = {};
};

Items items_of(const std::vector<Item>& all) {
  Items items;
  items.starts.push_back(0);
  for (const Item& item : all) {
    items.types.push_back(item.type);
    items.needs.insert(items.needs.end(), item.needs.begin(), item.needs.end());
    items.starts.push_back(static_cast<int32_t>(items.needs.size()));
  }
  return items;
}

// Needs are earlier items, some named twice; types are numbered as they come, like those of a plan.
std::vector<Item> random_items(std::mt19937& random, int32_t count, int32_t types) {
  std::vector<Item> all;
  for (int32_t i = 0; i < count; ++i) {
    Item item{std::min<int32_t>(static_cast<int32_t>(random() % types), i)};
    for (auto k = random() % 3; i > 0 && k > 0; --k)
      item.needs.push_back(std::max<int32_t>(0, i - 1 - static_cast<int32_t>(random() % 12)));
    if (!item.needs.empty() && random() % 4 == 0) item.needs.push_back(item.needs[0]);
    all.push_back(item);
  }
  return all;
}

// What is wrong with a plan, or nothing.
std::string complaint(const Items& items, const std::vector<Batch>& batches) {
  std::vector<bool> done(items.count());
  int32_t count = 0;
  for (const Batch& batch : batches) {
    if (batch.empty()) return "an empty batch";
    if (!std::is_sorted(batch.begin(), batch.end())) return "items out of order";
    for (int32_t item : batch) {
      if (items.types[item] != items.types[batch[0]]) return "two types in a batch";
      if (done[item]) return "an item twice";
      for (int32_t need : items.needs_of(item)) {
        if (!done[need]) return "an item before what it needs";
      }
    }
    for (int32_t item : batch) done[item] = true;
    count += static_cast<int32_t>(batch.size());
  }
  return count == items.count() ? "" : "items are missing";
}

std::vector<Batch> planned(const std::vector<Item>& all) {
  const Items items = items_of(all);
  std::vector<Batch> batches = batch(items);
  CHECK(complaint(items, batches) == "");
  return batches;
}

TEST_CASE("nothing makes no batches") { CHECK(batch(items_of({})).empty()); }

TEST_CASE("what needs nothing runs by type") {
  const auto batches = planned({{0}, {1}, {0}, {2}, {1}, {0}});
  CHECK(batches == std::vector<Batch>{{0, 2, 5}, {1, 4}, {3}});
}

TEST_CASE("chains of one type run level by level") {
  // 0 - 1 - 2, 3 - 4 and 5
  const auto batches = planned({{0}, {0, {0}}, {0, {1}}, {0}, {0, {3}}, {0}});
  CHECK(batches == std::vector<Batch>{{0, 3, 5}, {1, 4}, {2}});
}

TEST_CASE("a type waits for items that are not ready yet") {
  // An item of type 0 is ready at once; two others after one and two of type 1.
  const auto batches = planned({{1}, {0}, {0, {0}}, {1}, {1, {3}}, {0, {4}}});
  CHECK(batches == std::vector<Batch>{{0, 3}, {4}, {1, 2, 5}});
}

TEST_CASE("leaves of a tree wait for one another, and so do its nodes of one height") {
  //        6             10
  //     4     5        8    9     of type 1; leaves of type 0
  const auto batches = planned({{0},
                                {0},
                                {0},
                                {0},
                                {1, {0, 1}},
                                {1, {2, 3}},
                                {1, {4, 5}},
                                {0},
                                {1, {7, 7}},
                                {0},
                                {1, {8, 9}}});
  CHECK(batches == std::vector<Batch>{{0, 1, 2, 3, 7, 9}, {4, 5, 8}, {6, 10}});
}

TEST_CASE("where no level is whole, the type runs of which most of the rest is ready") {
  // Of type 0 two of three are ready, but its first level waits for type 1, and of type 1 one of
  // two, whose first level waits for type 0.
  const auto batches = planned({{0}, {0}, {1}, {0, {2}}, {1, {0}}});
  CHECK(batches[0] == Batch{0, 1});
}

TEST_CASE("plans of random items are right") {
  std::mt19937 random(11);
  for (int round = 0; round < 400; ++round) {
    const auto count = static_cast<int32_t>(1 + random() % 120);
    const auto types = static_cast<int32_t>(1 + random() % (round % 4 ? 6 : 100));
    planned(random_items(random, count, types));
  }
}

TEST_CASE("more types than have levels of their own") {
  std::mt19937 random(3);
  for (int round = 0; round < 20; ++round) planned(random_items(random, 1000, 200));
}

TEST_CASE("more examples of one graph make larger batches, not more") {
  std::mt19937 random(5);
  for (int round = 0; round < 100; ++round) {
    const std::vector<Item> one = random_items(random, 40, 1 + round % 7);
    std::vector<Item> five;
    for (int32_t copy = 0; copy < 5; ++copy) {
      for (Item item : one) {
        for (int32_t& need : item.needs) need += copy * 40;
        five.push_back(item);
      }
    }
    const auto of_one = planned(one), of_five = planned(five);
    REQUIRE(of_one.size() == of_five.size());
    for (size_t i = 0; i < of_one.size(); ++i) CHECK(of_five[i].size() == 5 * of_one[i].size());
  }
}

TEST_CASE("the same items make the same plan, whatever ran before") {
  std::mt19937 random(9);
  const std::vector<Item> items = random_items(random, 200, 5);
  const auto once = planned(items);
  planned(random_items(random, 500, 9));
  CHECK(planned(items) == once);
}

}  // namespace
}  // namespace weft::schedule
