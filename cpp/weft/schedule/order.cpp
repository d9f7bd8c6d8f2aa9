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
  int32_t left = 0;                         // of all levels
  int32_t ready_count = 0;

  void add(size_t at) {
    if (unfinished.size() <= at) {
      unfinished.resize(at + 1);
      ready.resize(at + 1);
    }
    ++unfinished[at];
    ++left;
  }
  void make_ready(int32_t item, size_t at) {
    ready[at].push_back(item);
    ++ready_count;
  }
  // Of the lowest level, those that are ready.
  double share() const {
    return left == 0 ? -1 : static_cast<double>(ready[level].size()) / unfinished[level];
  }
  double share_of_all() const { return left == 0 ? -1 : static_cast<double>(ready_count) / left; }
  void take(size_t at, Batch& batch) {
    const auto count = static_cast<int32_t>(ready[at].size());
    batch.insert(batch.end(), ready[at].begin(), ready[at].end());
    ready[at].clear();
    unfinished[at] -= count;
    ready_count -= count;
    left -= count;
    while (level < unfinished.size() && unfinished[level] == 0) ++level;
  }
};

template <class Share>
Group& best_of(std::vector<Group>& groups, const Share& share) {
  return *std::max_element(groups.begin(), groups.end(),
                           [&](const Group& a, const Group& b) { return share(a) < share(b); });
}

// A level of which all is ready, if there is one. Otherwise levels of several types wait for each
// other: then what is ready of the type that has least left to wait for.
Batch next_batch(std::vector<Group>& groups) {
  Batch batch;
  Group& whole = best_of(groups, [](const Group& group) { return group.share(); });
  if (whole.share() == 1) {
    whole.take(whole.level, batch);
  } else {
    Group& group = best_of(groups, [](const Group& other) { return other.share_of_all(); });
    for (size_t at = 0; at < group.ready.size(); ++at) group.take(at, batch);
  }
  std::sort(batch.begin(), batch.end());
  return batch;
}

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
    group.add(levels[item]);
    waits[item] = static_cast<int32_t>(items.needs_of(item).size());
    if (waits[item] == 0) group.make_ready(item, levels[item]);
  }
  for (Group& group : groups) {
    while (group.left > 0 && group.unfinished[group.level] == 0) ++group.level;
  }
  std::vector<Batch> batches;
  for (int32_t done = 0; done < items.count();) {
    batches.push_back(next_batch(groups));
    for (int32_t item : batches.back()) {
      for (int32_t k = consumers.starts[item]; k < consumers.starts[item + 1]; ++k) {
        const int32_t consumer = consumers.items[k];
        if (--waits[consumer] == 0)
          groups[items.types[consumer]].make_ready(consumer, levels[consumer]);
      }
    }
    done += static_cast<int32_t>(batches.back().size());
  }
  return batches;
}

}  // namespace weft::schedule
