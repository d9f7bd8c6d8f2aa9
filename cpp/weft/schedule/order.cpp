#include "weft/schedule/order.h"

#include <algorithm>
#include <numeric>

namespace weft::schedule {
namespace {

// The most frequent types have levels of their own; the others count together, in the last place.
constexpr int32_t most_counted_types = 64;

std::vector<int32_t> places_of_types(const Items& items, int32_t type_count) {
  std::vector<int32_t> places(type_count);
  std::iota(places.begin(), places.end(), 0);
  if (type_count <= most_counted_types) return places;
  std::vector<int32_t> counts(type_count), order = places;
  for (int32_t type : items.types) ++counts[type];
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return counts[a] > counts[b]; });
  for (int32_t rank = 0; rank < type_count; ++rank)
    places[order[rank]] = std::min(rank, most_counted_types - 1);
  return places;
}

// For each item its level among the items of its type, from 0.
std::vector<int32_t> levels_of(const Items& items, int32_t type_count) {
  const std::vector<int32_t> places = places_of_types(items, type_count);
  const int32_t width = std::min(type_count, most_counted_types);
  static std::vector<int32_t> heights;  // kept from plan to plan, as memory to work in
  heights.assign(static_cast<size_t>(items.count()) * width, 0);
  std::vector<int32_t> levels(items.count());
  for (int32_t item = 0; item < items.count(); ++item) {
    int32_t* height = &heights[static_cast<size_t>(item) * width];
    for (int32_t need : items.needs_of(item)) {
      const int32_t* other = &heights[static_cast<size_t>(need) * width];
      for (int32_t k = 0; k < width; ++k) height[k] = std::max(height[k], other[k]);
    }
    levels[item] = height[places[items.types[item]]]++;
  }
  return levels;
}

// The items of one type, by level.
struct Group {
  std::vector<int32_t> unfinished;          // how many, by level
  std::vector<std::vector<int32_t>> ready;  // which, by level
  size_t level = 0;                         // the lowest with unfinished items
  double share() const {
    if (level == unfinished.size()) return -1;
    return static_cast<double>(ready[level].size()) / unfinished[level];
  }
};

struct Consumers {
  std::vector<int32_t> starts, items;
};

Consumers consumers_of(const Items& items) {
  Consumers result{std::vector<int32_t>(items.count() + 1),
                   std::vector<int32_t>(items.needs.size())};
  for (int32_t need : items.needs) ++result.starts[need + 1];
  std::partial_sum(result.starts.begin(), result.starts.end(), result.starts.begin());
  std::vector<int32_t> next(result.starts.begin(), result.starts.end() - 1);
  for (int32_t item = 0; item < items.count(); ++item) {
    for (int32_t need : items.needs_of(item)) result.items[next[need]++] = item;
  }
  return result;
}

}  // namespace

std::vector<Batch> order(const Items& items) {
  if (items.count() == 0) return {};
  const int32_t type_count = *std::max_element(items.types.begin(), items.types.end()) + 1;
  const std::vector<int32_t> levels = levels_of(items, type_count);
  const Consumers consumers = consumers_of(items);
  std::vector<Group> groups(type_count);
  std::vector<int32_t> waits(items.count());
  for (int32_t item = 0; item < items.count(); ++item) {
    Group& group = groups[items.types[item]];
    const auto level = static_cast<size_t>(levels[item]);
    if (group.unfinished.size() <= level) {
      group.unfinished.resize(level + 1);
      group.ready.resize(level + 1);
    }
    ++group.unfinished[level];
    waits[item] = static_cast<int32_t>(items.needs_of(item).size());
    if (waits[item] == 0) group.ready[level].push_back(item);
  }
  for (Group& group : groups) {
    while (group.level < group.unfinished.size() && group.unfinished[group.level] == 0)
      ++group.level;
  }
  std::vector<Batch> batches;
  for (int32_t done = 0; done < items.count();) {
    Group* best = &groups[0];
    for (Group& group : groups) {
      if (group.share() > best->share()) best = &group;
    }
    size_t level = best->level;
    if (best->share() == 0) {
      // Lowest levels may wait for each other's higher ones: take any that is ready.
      for (best = &groups[0];; ++best) {
        const auto found = std::find_if(best->ready.begin(), best->ready.end(),
                                        [](const auto& ready) { return !ready.empty(); });
        level = found - best->ready.begin();
        if (found != best->ready.end()) break;
      }
    }
    Batch batch = std::move(best->ready[level]);
    best->ready[level].clear();
    std::sort(batch.begin(), batch.end());
    for (int32_t item : batch) {
      for (int32_t k = consumers.starts[item]; k < consumers.starts[item + 1]; ++k) {
        const int32_t consumer = consumers.items[k];
        if (--waits[consumer] == 0) {
          groups[items.types[consumer]].ready[levels[consumer]].push_back(consumer);
        }
      }
    }
    best->unfinished[level] -= static_cast<int32_t>(batch.size());
    while (best->level < best->unfinished.size() && best->unfinished[best->level] == 0)
      ++best->level;
    done += static_cast<int32_t>(batch.size());
    batches.push_back(std::move(batch));
  }
  return batches;
}

}  // namespace weft::schedule
