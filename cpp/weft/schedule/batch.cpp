#include "weft/schedule/batch.h"

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

// Items of one type and level: how many are unfinished, and which are ready, as a list through
// `Agenda::next`.
struct Level {
  int32_t unfinished = 0;
  int32_t ready = 0;
  int32_t first_ready = -1;
};

// The levels of one type: `begin` to `end`, of which `at` is the lowest with unfinished items.
struct Group {
  int32_t begin = 0, end = 0, at = 0;
  int32_t left = 0;
  int32_t ready = 0;
};

class Agenda {
 public:
  Agenda(const Items& items, int32_t type_count)
      : groups_(type_count), level_of_(levels_of(items, type_count)), next_(items.count()) {
    for (int32_t item = 0; item < items.count(); ++item) {
      Group& group = groups_[items.types[item]];
      group.end = std::max(group.end, level_of_[item] + 1);
      ++group.left;
    }
    int32_t begin = 0;
    for (Group& group : groups_) {
      group.begin = group.at = begin;
      begin = group.end += begin;
    }
    levels_.resize(begin);
    for (int32_t item = 0; item < items.count(); ++item) {
      level_of_[item] += groups_[items.types[item]].begin;
      ++levels_[level_of_[item]].unfinished;
    }
    for (Group& group : groups_) skip_finished(group);
  }

  void make_ready(int32_t item, int32_t type) {
    Level& level = levels_[level_of_[item]];
    next_[item] = level.first_ready;
    level.first_ready = item;
    ++level.ready;
    ++groups_[type].ready;
  }

  // A level of which all is ready, if there is one. Otherwise levels of several types wait for each
  // other: then what is ready of the type that has least left to wait for.
  Batch take() {
    Batch batch;
    Group* best = nullptr;
    double best_share = -1;
    for (Group& group : groups_) {
      if (group.left == 0) continue;
      if (levels_[group.at].ready == levels_[group.at].unfinished) {
        take_level(group, group.at, batch);
        return batch;
      }
      const double share = static_cast<double>(group.ready) / group.left;
      if (share > best_share) {
        best = &group;
        best_share = share;
      }
    }
    for (int32_t at = best->at; at < best->end; ++at) take_level(*best, at, batch);
    std::sort(batch.begin(), batch.end());
    return batch;
  }

 private:
  void skip_finished(Group& group) const {
    while (group.at < group.end && levels_[group.at].unfinished == 0) ++group.at;
  }

  void take_level(Group& group, int32_t at, Batch& batch) {
    Level& level = levels_[at];
    const size_t begin = batch.size();
    for (int32_t item = level.first_ready; item >= 0; item = next_[item]) batch.push_back(item);
    std::sort(batch.begin() + begin, batch.end());
    level.unfinished -= level.ready;
    group.left -= level.ready;
    group.ready -= level.ready;
    level.ready = 0;
    level.first_ready = -1;
    skip_finished(group);
  }

  std::vector<Group> groups_;
  std::vector<Level> levels_;
  std::vector<int32_t> level_of_;
  std::vector<int32_t> next_;
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

std::vector<Batch> batch(const Items& items) {
  if (items.count() == 0) return {};
  const int32_t type_count = *std::max_element(items.types.begin(), items.types.end()) + 1;
  Agenda agenda(items, type_count);
  const Consumers consumers = consumers_of(items);
  std::vector<int32_t> waits(items.count());
  for (int32_t item = 0; item < items.count(); ++item) {
    waits[item] = static_cast<int32_t>(items.needs_of(item).size());
    if (waits[item] == 0) agenda.make_ready(item, items.types[item]);
  }
  std::vector<Batch> batches;
  for (int32_t done = 0; done < items.count();) {
    batches.push_back(agenda.take());
    for (int32_t item : batches.back()) {
      for (int32_t k = consumers.starts[item]; k < consumers.starts[item + 1]; ++k) {
        const int32_t consumer = consumers.items[k];
        if (--waits[consumer] == 0) agenda.make_ready(consumer, items.types[consumer]);
      }
    }
    done += static_cast<int32_t>(batches.back().size());
  }
  return batches;
}

}  // namespace weft::schedule
