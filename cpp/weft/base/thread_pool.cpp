#include "weft/base/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

namespace weft::base {
namespace {

using Clock = std::chrono::steady_clock;

thread_local bool inside_parallel = false;

struct Job {
  RangeFunction function;
  void* state;
  int64_t count;
  int64_t chunk;
  std::atomic<int64_t> next{0};
};

void work_on(Job& job) {
  while (true) {
    const int64_t begin = job.next.fetch_add(job.chunk, std::memory_order_relaxed);
    if (begin >= job.count) return;
    job.function(job.state, begin, std::min(begin + job.chunk, job.count));
  }
}

// Waits a little while without going to sleep: what follows a large kernel is mostly another one,
// and waking a thread takes as long as adding up a million floats. On a busy machine the one who is
// waited for may need this very processor, so it is offered. False: it is not so yet.
template <class Condition>
bool spin(const Condition& condition) {
  const auto end = Clock::now() + std::chrono::microseconds(50);
  do {
    for (int i = 0; i < 32; ++i) {
      if (condition()) return true;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
    std::this_thread::yield();
  } while (Clock::now() < end);
  return false;
}

class Pool {
 public:
  // The caller works too and waits only for those who have joined: a thread that is slow to wake
  // finds the call closed.
  void run(Job& job, int helpers, bool is_large) {
    helpers = std::min(helpers, most_workers);
    while (workers_ < helpers) {
      try {
        std::thread([this] { serve(); }).detach();
      } catch (const std::system_error&) {  // the machine gives no more of them
        helpers = workers_;
        break;
      }
      ++workers_;
    }
    job_ = &job;
    finished_ = 0;
    const uint64_t number = (call_ >> 16) + 1;
    call_ = number << 16 | static_cast<uint64_t>(helpers);
    const Clock::time_point begin = Clock::now();
    if (sleepers_ > 0) {
      // One small piece of work is done before they are awake, and a row of them is not.
      dense_ = begin - last_end_ < last_end_ - last_begin_ ? dense_ + 1 : 0;
      if (is_large || dense_ > 2) {
        const std::lock_guard lock(mutex_);
        wake_.notify_all();
      }
    }
    work_on(job);
    last_begin_ = begin;
    last_end_ = Clock::now();
    const uint64_t joined =
        static_cast<uint64_t>(helpers) - (call_.exchange(number << 16) & 0xffff);
    const auto done = [&] { return finished_ == joined; };
    if (spin(done)) return;
    std::unique_lock lock(mutex_);
    done_.wait(lock, done);
  }

 private:
  [[noreturn]] void serve() {
    inside_parallel = true;
    uint64_t seen = 0;  // the last call this thread joined
    while (true) {
      const auto is_open = [&](uint64_t call) { return (call & 0xffff) > 0 && call >> 16 != seen; };
      const auto called = [&] { return is_open(call_); };
      if (!spin(called)) {
        std::unique_lock lock(mutex_);
        ++sleepers_;
        wake_.wait(lock, called);
        --sleepers_;
      }
      uint64_t call = call_;
      if (!is_open(call) || !call_.compare_exchange_strong(call, call - 1)) continue;
      seen = call >> 16;
      work_on(*job_);
      ++finished_;
      const std::lock_guard lock(mutex_);
      done_.notify_one();
    }
  }

  static constexpr int most_workers = 1024;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  int workers_ = 0;
  int dense_ = 0;  // calls in a row that came sooner than the one before them had taken
  Clock::time_point last_begin_, last_end_;
  std::atomic<Job*> job_ = nullptr;
  // Which call this is, and in the low 16 bits how many workers may still join it: one number, so
  // that a worker never joins another call than the one it saw.
  std::atomic<uint64_t> call_ = 0;
  std::atomic<uint64_t> finished_ = 0;
  std::atomic<int> sleepers_ = 0;
};

// Never destroyed: its threads run until the process ends. After fork the child abandons the
// parent's pool, whose threads it does not have, and makes a new one.
Pool* pool = nullptr;
std::mutex* pool_in_use = new std::mutex;
// Read by kernels while another user thread, which has the host's lock meanwhile, may set it.
std::atomic<int> threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));

void after_fork_in_child() {
  pool = nullptr;
  pool_in_use = new std::mutex;
  inside_parallel = false;
}

}  // namespace

int thread_count() { return inside_parallel ? 1 : threads.load(std::memory_order_relaxed); }

void set_thread_count(int count) { threads.store(std::max(1, count), std::memory_order_relaxed); }

void run_parallel(int64_t count, int64_t grain, RangeFunction function, void* state, Wake wake) {
  const int64_t most = (count + grain - 1) / std::max<int64_t>(grain, 1);
  const int used = static_cast<int>(std::min<int64_t>(thread_count(), most));
  // Two user threads may want the pool at once; the second one works alone.
  std::unique_lock lock(*pool_in_use, std::try_to_lock);
  if (used <= 1 || !lock.owns_lock()) {
    function(state, 0, count);
    return;
  }
  if (pool == nullptr) {
    static const int registered = pthread_atfork(nullptr, nullptr, after_fork_in_child);
    (void)registered;
    pool = new Pool;
  }
  // Four chunks a thread even out uneven cores without making chunks small.
  const int64_t chunk = std::max(grain, (count + 4 * used - 1) / (4 * used));
  Job job{function, state, count, chunk};
  inside_parallel = true;
  pool->run(job, used - 1, wake == Wake::yes || (wake == Wake::by_grain && most >= 8));
  inside_parallel = false;
}

}  // namespace weft::base
