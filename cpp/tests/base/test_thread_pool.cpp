// Also built by itself, for the thread sanitizer.
#include "weft/base/thread_pool.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "weft/base/blocking.h"

namespace weft::base {
namespace {

// So many threads as the test says, whatever machine it runs on.
struct Threads {
  explicit Threads(int count) : before(thread_count()) { set_thread_count(count); }
  ~Threads() { set_thread_count(before); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  const int before;
};

using Range = std::pair<int64_t, int64_t>;

std::vector<Range> ranges_of(int64_t count, int64_t grain, Wake wake = Wake::by_grain) {
  std::mutex mutex;
  std::vector<Range> ranges;
  parallel_for(
      count, grain,
      [&](int64_t begin, int64_t end) {
        const std::lock_guard lock(mutex);
        ranges.emplace_back(begin, end);
      },
      wake);
  std::sort(ranges.begin(), ranges.end());
  return ranges;
}

// Each number once, as one who fills memory without a lock sees it.
bool covers(int64_t count, int64_t grain) {
  std::vector<int> visits(static_cast<size_t>(count));
  parallel_for(count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ++visits[i];
  });
  return std::all_of(visits.begin(), visits.end(), [](int times) { return times == 1; });
}

TEST_CASE("ranges are disjoint, cover all, and have at least a grain each") {
  const Threads threads(4);
  for (const int64_t count : {1, 2, 7, 64, 1000, 4097}) {
    for (const int64_t grain : {1, 3, 64, 1000}) {
      const std::vector<Range> ranges = ranges_of(count, grain);
      int64_t next = 0;
      for (const auto& [begin, end] : ranges) {
        CHECK(begin == next);
        CHECK((end - begin >= grain || end == count));
        next = end;
      }
      CHECK(next == count);
    }
  }
}

TEST_CASE("what is no more than a grain is one range, and nothing is none") {
  const Threads threads(4);
  CHECK(ranges_of(64, 64) == std::vector<Range>{{0, 64}});
  CHECK(ranges_of(0, 64).empty());
  CHECK(ranges_of(-3, 64).empty());
}

TEST_CASE("ranges depend on count, grain and the number of threads only") {
  const Threads threads(3);
  const std::vector<Range> once = ranges_of(1000, 10);
  CHECK(once.size() > 3);
  for (const Wake wake : {Wake::yes, Wake::no, Wake::by_grain}) {
    for (int i = 0; i < 50; ++i) CHECK(ranges_of(1000, 10, wake) == once);
  }
}

TEST_CASE("all numbers are visited once, call after call") {
  const Threads threads(4);
  for (int64_t count = 1; count < 20000; count = 2 * count + 1) {
    for (int i = 0; i < 20; ++i) REQUIRE(covers(count, 16));
  }
}

void sleep_for(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

// Whether a second thread joins a call: until then the first one waits, but not for ever.
bool is_shared_by_two() {
  std::atomic<int> others = 0;
  const auto caller = std::this_thread::get_id();
  parallel_for(
      8, 1,
      [&](int64_t, int64_t) {
        if (std::this_thread::get_id() != caller) ++others;
        for (int i = 0; i < 2000 && others == 0; ++i) sleep_for(1);
      },
      Wake::yes);
  return others > 0;
}

TEST_CASE("threads are woken where there is enough to do") {
  const Threads threads(4);
  CHECK(covers(1000, 8));
  sleep_for(20);  // by now they do not look for work any more
  CHECK(is_shared_by_two());
}

TEST_CASE("a call ends when all who joined it are done") {
  const Threads threads(4);
  const auto caller = std::this_thread::get_id();
  for (int round = 0; round < 10; ++round) {
    std::atomic<int> begun = 0, ended = 0, others = 0;
    parallel_for(
        8, 1,
        [&](int64_t, int64_t) {
          ++begun;
          if (std::this_thread::get_id() != caller) {
            ++others;
            sleep_for(2);
          }
          for (int i = 0; i < 2000 && others == 0; ++i) sleep_for(1);
          ++ended;
        },
        Wake::yes);
    CHECK(begun == ended);
    sleep_for(5);  // one that was not waited for counts where `ended` was
  }
}

TEST_CASE("inside a parallel region work is done inline") {
  const Threads threads(4);
  std::vector<std::atomic<int>> visits(64);
  parallel_for(8, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      CHECK(thread_count() == 1);
      const auto outer = std::this_thread::get_id();
      parallel_for(8, 1, [&](int64_t inner_begin, int64_t inner_end) {
        CHECK(std::this_thread::get_id() == outer);
        for (int64_t k = inner_begin; k < inner_end; ++k) ++visits[8 * i + k];
      });
    }
  });
  CHECK(std::all_of(visits.begin(), visits.end(), [](const auto& times) { return times == 1; }));
  CHECK(thread_count() == 4);
}

TEST_CASE("one who finds the pool in use works alone") {
  const Threads threads(3);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> users;
  for (int user = 0; user < 4; ++user) {
    users.emplace_back([&] {
      for (int i = 0; i < 200; ++i) wrong += covers(500, 8) ? 0 : 1;
    });
  }
  for (std::thread& user : users) user.join();
  CHECK(wrong == 0);
}

TEST_CASE("the number of threads may change while others compute") {
  const Threads threads(2);
  std::atomic<bool> done = false;
  std::atomic<int> wrong = 0;
  std::thread user([&] {
    while (!done) wrong += covers(500, 8) ? 0 : 1;
  });
  for (int i = 0; i < 200; ++i) {
    set_thread_count(1 + i % 5);
    wrong += covers(300, 8) ? 0 : 1;
  }
  done = true;
  user.join();
  CHECK(wrong == 0);
}

TEST_CASE("there is at least one thread") {
  const Threads threads(1);
  for (const int count : {0, -3}) {
    set_thread_count(count);
    CHECK(thread_count() == 1);
  }
}

TEST_CASE("after fork a child starts threads of its own") {
  const Threads threads(3);
  CHECK(covers(1000, 8));  // the parent has threads now
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // one that waits for the parent's threads would wait for ever
    bool fine = covers(1000, 8) && thread_count() == 3 && is_shared_by_two();
    parallel_for(8, 1, [&](int64_t, int64_t) { fine = fine && thread_count() == 1; });
    _exit(fine ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(covers(1000, 8));
}

TEST_CASE("a child of one that forks inside a region is not inside one") {
  const Threads threads(2);
  std::atomic<int> failures = 0;
  parallel_for(2, 1, [&](int64_t begin, int64_t) {
    if (begin > 0) return;
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      _exit(thread_count() == 2 && covers(1000, 8) ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) ++failures;
  });
  CHECK(failures == 0);
}

int entered = 0, left = 0;

TEST_CASE("the host's lock is given up where that is worthwhile, and never while it is kept") {
  const BlockingHooks before = blocking_hooks;
  blocking_hooks = {[]() -> void* { return ++entered, &entered; }, [](void*) { ++left; }};
  entered = left = 0;
  {
    const BlockingRegion region(true);
    CHECK((entered == 1 && left == 0));
  }
  CHECK(left == 1);
  {
    const BlockingRegion region(false);
  }
  {
    const KeepLock outer, inner;
    const BlockingRegion region(true);
  }
  CHECK((entered == 1 && left == 1));
  {
    const BlockingRegion region(true);
  }
  CHECK((entered == 2 && left == 2));
  blocking_hooks = before;
}

}  // namespace
}  // namespace weft::base
