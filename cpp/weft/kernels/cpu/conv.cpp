// Convolution as matrix products without copies of windows. The padded image is laid out in planes,
// one for each phase of the stride, so that neighbouring output pixels read neighbouring elements.
// A window's element k then lies at a fixed distance from its first: row k of the matrix of windows
// is the image itself, shifted. Pixels are numbered along the rows of a plane; the few between two
// rows of the output are computed too and dropped.
#include "weft/kernels/conv.h"

#include <algorithm>
#include <vector>

#include "weft/base/blocking.h"
#include "weft/base/thread_pool.h"
#include "weft/kernels/cpu/gemm_table.h"
#include "weft/kernels/cpu/isa.h"

namespace weft::kernels {

using tensor::Array;

namespace {

template <class T>
const Products<T>& products() {
  return part<T>(gemm_table());
}

// Memory that a thread keeps for its next convolution.
template <class T>
T* scratch(int which, int64_t count) {
  thread_local std::vector<T> buffers[2];
  std::vector<T>& buffer = buffers[which];
  // Much more than is needed now is given back.
  if (buffer.size() > (1 << 22) && static_cast<int64_t>(buffer.size()) > 8 * count) buffer = {};
  if (static_cast<int64_t>(buffer.size()) < count) buffer.resize(count);
  return buffer.data();
}

constexpr int64_t pixel_tile = 64;    // as many columns as a panel of the matrix product has
constexpr int64_t window_rows = 512;  // rows of windows at a time, where they are written out

int64_t window_size(const ConvShape& s) { return s.in_channels * s.y.kernel * s.x.kernel; }
int64_t in_pixels(const ConvShape& s) { return s.y.in * s.x.in; }
int64_t out_pixels(const ConvShape& s) { return s.y.out * s.x.out; }

// ---- the image in planes -----------------------------------------------------------------------

// Along one dimension: element i of a window is element shift[i] of plane plane[i], which has every
// stride-th element of the padded image from phases[plane] on.
struct Phases {
  std::vector<int64_t> phases, plane, shift;
  int64_t length;  // of a plane
  explicit Phases(const ConvAxis& axis) : length(axis.out) {
    for (int64_t i = 0; i < axis.kernel; ++i) {
      const int64_t phase = i * axis.dilation % axis.stride;
      const auto found = std::find(phases.begin(), phases.end(), phase);
      plane.push_back(found - phases.begin());
      if (found == phases.end()) phases.push_back(phase);
      shift.push_back(i * axis.dilation / axis.stride);
      length = std::max(length, axis.out + shift.back());
    }
  }
  int64_t planes() const { return static_cast<int64_t>(phases.size()); }
};

struct Layout {
  Phases y, x;
  int64_t plane, channel;  // elements of one
  explicit Layout(const ConvShape& s)
      : y(s.y), x(s.x), plane(y.length * x.length), channel(y.planes() * x.planes() * plane) {}
  bool is_input(const ConvShape& s) const {
    return s.y.padding == 0 && s.x.padding == 0 && s.y.stride == 1 && s.x.stride == 1 &&
           y.length == s.y.in && x.length == s.x.in;
  }
  // Pixels along the rows of a plane from the first to the last of the output.
  int64_t pixels(const ConvShape& s) const { return (s.y.out - 1) * x.length + s.x.out; }
  // How far each element of a window lies from the window's first pixel.
  std::vector<int64_t> offsets(const ConvShape& s) const {
    std::vector<int64_t> result;
    for (int64_t c = 0; c < s.in_channels; ++c) {
      for (int64_t i = 0; i < s.y.kernel; ++i) {
        for (int64_t j = 0; j < s.x.kernel; ++j) {
          result.push_back(c * channel + (y.plane[i] * x.planes() + x.plane[j]) * plane +
                           y.shift[i] * x.length + x.shift[j]);
        }
      }
    }
    return result;
  }
};

// Which places of a row have something: first + place * step must lie in [0, size).
struct Range {
  int64_t begin, end;
  Range(int64_t first, int64_t step, int64_t size, int64_t places) {
    begin = std::clamp<int64_t>(first >= 0 ? 0 : (step - 1 - first) / step, 0, places);
    end = std::clamp<int64_t>(first >= size ? 0 : (size - 1 - first) / step + 1, begin, places);
  }
};

// to[i][j] = from[top + i * y_step][left + j * x_step], zero where that is outside.
template <class T>
void place(const T* from, int64_t height, int64_t width, int64_t top, int64_t left, int64_t y_step,
           int64_t x_step, T* to, int64_t rows, int64_t row) {
  const Range columns(left, x_step, width, row);
  for (int64_t i = 0; i < rows; ++i, to += row) {
    const int64_t source = top + i * y_step;
    if (source < 0 || source >= height) {
      std::fill_n(to, row, T(0));
      continue;
    }
    const T* line = from + source * width + left;
    std::fill_n(to, columns.begin, T(0));
    if (x_step == 1) {
      std::copy(line + columns.begin, line + columns.end, to + columns.begin);
    } else {
      for (int64_t j = columns.begin; j < columns.end; ++j) to[j] = line[j * x_step];
    }
    std::fill(to + columns.end, to + row, T(0));
  }
}

template <class T>
const T* laid_out(const ConvShape& s, const Layout& layout, const T* image) {
  if (layout.is_input(s)) return image;
  T* const result = scratch<T>(0, s.in_channels * layout.channel);
  T* to = result;
  for (int64_t c = 0; c < s.in_channels; ++c, image += in_pixels(s)) {
    for (int64_t y_phase : layout.y.phases) {
      for (int64_t x_phase : layout.x.phases) {
        place(image, s.y.in, s.x.in, y_phase - s.y.padding, x_phase - s.x.padding, s.y.stride,
              s.x.stride, to, layout.y.length, layout.x.length);
        to += layout.plane;
      }
    }
  }
  return result;
}

// Pixels between the output's rows cost time, and so do lanes that a row leaves empty; a short sum
// leaves no time to sort results. So each row of the output is a product of its own, or pixels are
// numbered through.
bool is_by_rows(const ConvShape& s, const Layout& layout) {
  const int64_t lanes = (s.x.out + 15) / 16 * 16;
  return (window_size(s) < 64 && s.x.out >= 8) || (s.x.out >= 48 && lanes <= layout.x.length);
}

template <class T>
void convolve_rows(const ConvShape& s, const Layout& layout, const std::vector<int64_t>& offsets,
                   const T* image, const T* weight, const T* bias, T* out, int64_t begin,
                   int64_t end) {
  const int64_t m = s.out_channels, size = window_size(s), pixels = out_pixels(s);
  for (int64_t y = begin; y < end; ++y) {
    T* row = out + y * s.x.out;
    for (int64_t o = 0; bias && o < m; ++o) std::fill_n(row + o * pixels, s.x.out, bias[o]);
    products<T>().columns_at(m, s.x.out, size, weight, size, image + y * layout.x.length,
                             offsets.data(), bias != nullptr, row, pixels);
  }
}

template <class T>
void convolve_tiles(const ConvShape& s, const Layout& layout, const std::vector<int64_t>& offsets,
                    const T* image, const T* weight, const T* bias, T* out, int64_t begin,
                    int64_t end) {
  const int64_t m = s.out_channels, size = window_size(s), pixels = layout.pixels(s);
  T* results = scratch<T>(1, m * pixel_tile);
  for (int64_t tile = begin; tile < end; ++tile) {
    const int64_t start = tile * pixel_tile, count = std::min(pixel_tile, pixels - start);
    for (int64_t o = 0; bias && o < m; ++o) std::fill_n(results + o * pixel_tile, count, bias[o]);
    products<T>().columns_at(m, count, size, weight, size, image + start, offsets.data(),
                             bias != nullptr, results, pixel_tile);
    for (int64_t i = 0; i < count;) {
      const int64_t y = (start + i) / layout.x.length, x = (start + i) % layout.x.length;
      const int64_t some = std::min(count - i, s.x.out - x);
      for (int64_t o = 0; some > 0 && o < m; ++o) {
        std::copy_n(results + o * pixel_tile + i, some, out + o * out_pixels(s) + y * s.x.out + x);
      }
      i += layout.x.length - x;
    }
  }
}

// ---- the transpose with a stride ----------------------------------------

// Adds columns, one for each of `count` output pixels with one row for each element of a window of
// channels first..last, to where they belong in the image.
template <class T>
void add_windows(const ConvShape& s, const T* from, int64_t first, int64_t last, int64_t start,
                 int64_t count, T* image) {
  for (int64_t c = first; c < last; ++c) {
    for (int64_t i = 0; i < s.y.kernel; ++i) {
      for (int64_t j = 0; j < s.x.kernel; ++j, from += count) {
        for (int64_t done = 0; done < count;) {
          const int64_t y = (start + done) / s.x.out, x = (start + done) % s.x.out;
          const int64_t some = std::min(count - done, s.x.out - x);
          const int64_t row = y * s.y.stride - s.y.padding + i * s.y.dilation;
          const int64_t left = x * s.x.stride - s.x.padding + j * s.x.dilation;
          if (row >= 0 && row < s.y.in) {
            T* to = image + (c * s.y.in + row) * s.x.in + left;
            const Range range(left, s.x.stride, s.x.in, some);
            for (int64_t k = range.begin; k < range.end; ++k) to[k * s.x.stride] += from[done + k];
          }
          done += some;
        }
      }
    }
  }
}

template <class T>
void spread_strided(const ConvShape& s, const T* out, const T* weight, const T* bias, T* image) {
  const int64_t m = s.out_channels, size = window_size(s), pixels = out_pixels(s);
  for (int64_t c = 0; c < s.in_channels; ++c) {
    std::fill_n(image + c * in_pixels(s), in_pixels(s), bias ? bias[c] : T(0));
  }
  const int64_t area = s.y.kernel * s.x.kernel, some = std::max<int64_t>(1, window_rows / area);
  const int64_t wide = 4 * pixel_tile;
  for (int64_t start = 0; start < pixels; start += wide) {
    const int64_t count = std::min(wide, pixels - start);
    for (int64_t first = 0; first < s.in_channels; first += some) {
      const int64_t last = std::min(s.in_channels, first + some), rows = (last - first) * area;
      T* windows = scratch<T>(0, rows * count);
      products<T>().product({rows, count, m, true}, weight + first * area, size, out + start,
                            pixels, windows, count);
      add_windows(s, windows, first, last, start, count, image);
    }
  }
}

// ---- all images --------------------------------------------------------------------------------

// About how many multiplications a piece of work for a thread should have.
constexpr int64_t enough_work = 1 << 20;

// Calls body(image, first tile, last tile), over images and, if those are few, over tiles of
// pixels.
template <class Body>
void over_images(int64_t images, int64_t tiles, int64_t work_of_tile, Body body) {
  const base::BlockingRegion region(images * tiles * work_of_tile > enough_work);
  if (images >= 2 * base::thread_count()) {
    base::parallel_for(images, enough_work / (tiles * work_of_tile) + 1,
                       [&](int64_t begin, int64_t end) {
                         for (int64_t i = begin; i < end; ++i) body(i, 0, tiles);
                       });
    return;
  }
  for (int64_t i = 0; i < images; ++i) {
    base::parallel_for(tiles, enough_work / work_of_tile + 1,
                       [&](int64_t begin, int64_t end) { body(i, begin, end); });
  }
}

template <class T>
void convolve_all(const ConvShape& s, const T* input, const T* weight, const T* bias, T* output) {
  const int64_t weights = s.out_channels * window_size(s);
  const Layout layout(s);
  const std::vector<int64_t> offsets = layout.offsets(s);
  const bool by_rows = is_by_rows(s, layout);
  const int64_t tiles = by_rows ? s.y.out : (layout.pixels(s) + pixel_tile - 1) / pixel_tile;
  over_images(s.batch * s.groups, tiles, weights * (by_rows ? s.x.out : pixel_tile),
              [&](int64_t i, int64_t begin, int64_t end) {
                const int64_t group = i % s.groups;
                const T* image = laid_out(s, layout, input + i * s.in_channels * in_pixels(s));
                auto* const run = by_rows ? convolve_rows<T> : convolve_tiles<T>;
                run(s, layout, offsets, image, weight + group * weights,
                    bias ? bias + group * s.out_channels : nullptr,
                    output + i * s.out_channels * out_pixels(s), begin, end);
              });
}

template <class T>
void convolve_transposed_all(const ConvShape& s, const T* output, const T* weight, const T* bias,
                             T* input) {
  const int64_t area = s.y.kernel * s.x.kernel, weights = s.out_channels * window_size(s);
  if (s.y.stride == 1 && s.x.stride == 1) {
    // A convolution of the output with the weight turned by half a circle.
    ConvShape back = s;
    std::swap(back.in_channels, back.out_channels);
    for (auto [to, from] : {std::pair{&back.y, &s.y}, std::pair{&back.x, &s.x}}) {
      to->in = from->out;
      to->out = from->in;
      to->padding = from->dilation * (from->kernel - 1) - from->padding;
    }
    std::vector<T> turned(s.groups * weights);
    for (int64_t g = 0; g < s.groups; ++g) {
      for (int64_t o = 0; o < s.out_channels; ++o) {
        for (int64_t c = 0; c < s.in_channels; ++c) {
          const T* from = weight + ((g * s.out_channels + o) * s.in_channels + c) * area;
          std::reverse_copy(from, from + area,
                            &turned[((g * s.in_channels + c) * s.out_channels + o) * area]);
        }
      }
    }
    return convolve_all(back, output, turned.data(), bias, input);
  }
  over_images(s.batch * s.groups, 1, weights * out_pixels(s), [&](int64_t i, int64_t, int64_t) {
    const int64_t group = i % s.groups;
    spread_strided(s, output + i * s.out_channels * out_pixels(s), weight + group * weights,
                   bias ? bias + group * s.in_channels : nullptr,
                   input + i * s.in_channels * in_pixels(s));
  });
}

// The weight's gradient from one image, for columns first..last of windows: dot products of the
// output's channels with the shifted image.
template <class T>
void weight_of_image(const ConvShape& s, const Layout& layout, const std::vector<int64_t>& offsets,
                     const T* image, const T* out, int64_t first, int64_t last, bool accumulate,
                     T* weight) {
  // Some rows of the output at a time, spaced like a plane's, zeros in between.
  const int64_t m = s.out_channels, row = layout.x.length;
  const int64_t some = std::clamp<int64_t>(512 / row, 1, s.y.out);
  T* spaced = scratch<T>(1, m * some * row);
  for (int64_t y = 0; y < s.y.out; y += some) {
    const int64_t rows = std::min(some, s.y.out - y), pixels = (rows - 1) * row + s.x.out;
    for (int64_t o = 0; o < m; ++o) {
      place(out + o * out_pixels(s) + y * s.x.out, rows, s.x.out, 0, 0, 1, 1,
            spaced + o * rows * row, rows, row);
    }
    products<T>().dots_at(m, last - first, pixels, spaced, rows * row, image + y * row,
                          offsets.data() + first, accumulate || y > 0, weight + first,
                          window_size(s));
  }
}

template <class T>
void convolve_weight_all(const ConvShape& s, const T* input, const T* output, T* weight) {
  const int64_t weights = s.out_channels * window_size(s);
  const Layout layout(s);
  const std::vector<int64_t> offsets = layout.offsets(s);
  const base::BlockingRegion region(s.batch * s.groups * weights * out_pixels(s) > enough_work);
  // Threads share out the elements of the weight, so that each is added up in one order.
  const int64_t area = s.y.kernel * s.x.kernel;
  const int64_t some = std::max<int64_t>(1, std::min(s.in_channels, 256 / area));
  const int64_t parts = (s.in_channels + some - 1) / some;
  base::parallel_for(
      s.groups * parts, enough_work / (s.batch * weights / parts * out_pixels(s) + 1) + 1,
      [&](int64_t begin, int64_t end) {
        int64_t done = -1;  // the image that is laid out now
        const T* image = nullptr;
        for (int64_t n = 0; n < s.batch; ++n) {
          for (int64_t p = begin; p < end; ++p) {
            const int64_t group = p / parts, c = p % parts * some, i = n * s.groups + group;
            const int64_t last = std::min(s.in_channels, c + some);
            if (i != done) image = laid_out(s, layout, input + i * s.in_channels * in_pixels(s));
            done = i;
            weight_of_image(s, layout, offsets, image, output + i * s.out_channels * out_pixels(s),
                            c * area, last * area, n > 0, weight + group * weights);
          }
        }
      });
}

// Calls body with a zero of the array's type.
template <class Body>
void with_lane(const Array& array, Body body) {
  tensor::on_float_lane(tensor::lane_of(array.dtype), body);
}

}  // namespace

void convolve(const ConvShape& shape, const Array& input, const Array& weight, const Array& bias,
              const Array& output) {
  with_lane(output, [&]<class T>(T) {
    convolve_all(shape, input.as<T>(), weight.as<T>(), bias.as_or_null<T>(), output.as<T>());
  });
}

void convolve_transposed(const ConvShape& shape, const Array& output, const Array& weight,
                         const Array& bias, const Array& input) {
  with_lane(input, [&]<class T>(T) {
    convolve_transposed_all(shape, output.as<T>(), weight.as<T>(), bias.as_or_null<T>(),
                            input.as<T>());
  });
}

void convolve_weight(const ConvShape& shape, const Array& input, const Array& output,
                     const Array& weight) {
  with_lane(weight, [&]<class T>(T) {
    convolve_weight_all(shape, input.as<T>(), output.as<T>(), weight.as<T>());
  });
}

}  // namespace weft::kernels
