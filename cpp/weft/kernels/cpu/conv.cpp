// Convolution as matrix products. With a stride of 1 no windows are copied: a window's element k lies
// at a fixed distance from its first, so row k of the matrix of windows is the padded image itself,
// shifted. Pixels are numbered along the padded rows; the few between two rows of the output are
// computed too and dropped. With other strides windows are copied, a few hundred pixels at a time.
#include "weft/kernels/conv.h"

#include <algorithm>
#include <vector>

#include "weft/base/blocking.h"
#include "weft/base/thread_pool.h"
#include "weft/kernels/cpu/gemm_table.h"

namespace weft::kernels {

using tensor::Array;
using tensor::DType;

namespace {

template <class T>
const Products<T>& products() {
  if constexpr (std::is_same_v<T, float>) {
    return gemm_table().f32;
  } else {
    return gemm_table().f64;
  }
}

// Memory that a thread keeps for its next convolution.
template <class T>
T* scratch(int which, int64_t count) {
  thread_local std::vector<T> buffers[3];
  if (static_cast<int64_t>(buffers[which].size()) < count) buffers[which].resize(count);
  return buffers[which].data();
}

constexpr int64_t pixel_tile = 64;      // as many columns as a panel of the matrix product has
constexpr int64_t window_rows = 512;    // rows of copied windows at a time

int64_t window_size(const ConvShape& s) { return s.in_channels * s.y.kernel * s.x.kernel; }
int64_t in_pixels(const ConvShape& s) { return s.y.in * s.x.in; }
int64_t out_pixels(const ConvShape& s) { return s.y.out * s.x.out; }

// ---- stride 1 ----------------------------------------------------------------------------------

// The image with the margins that windows reach into: rows of `row` elements.
struct Padded {
  int64_t rows, row;
  explicit Padded(const ConvShape& s)
      : rows(s.y.out + s.y.dilation * (s.y.kernel - 1)),
        row(s.x.out + s.x.dilation * (s.x.kernel - 1)) {}
  int64_t image() const { return rows * row; }
  bool is_input(const ConvShape& s) const {
    return s.y.padding == 0 && s.x.padding == 0 && rows == s.y.in && row == s.x.in;
  }
  // Pixels along padded rows from the first to the last of the output.
  int64_t pixels(const ConvShape& s) const { return (s.y.out - 1) * row + s.x.out; }
};

// Places a plane (height x width) at (top, left) of another one, cut to its size, zeros elsewhere.
template <class T>
void place(const T* from, int64_t height, int64_t width, int64_t top, int64_t left, T* to,
           int64_t to_height, int64_t to_width) {
  const int64_t first = std::max<int64_t>(0, left), skip = std::max<int64_t>(0, -left);
  const int64_t count = std::max<int64_t>(0, std::min(width - skip, to_width - first));
  for (int64_t y = 0; y < to_height; ++y) {
    T* row = to + y * to_width;
    const int64_t source = y - top;
    if (source < 0 || source >= height || count == 0) {
      std::fill_n(row, to_width, T(0));
      continue;
    }
    std::fill_n(row, first, T(0));
    std::copy_n(from + source * width + skip, count, row + first);
    std::fill_n(row + first + count, to_width - first - count, T(0));
  }
}

template <class T>
const T* padded_image(const ConvShape& s, const Padded& padded, const T* image) {
  if (padded.is_input(s)) return image;
  T* to = scratch<T>(0, s.in_channels * padded.image());
  for (int64_t c = 0; c < s.in_channels; ++c) {
    place(image + c * in_pixels(s), s.y.in, s.x.in, s.y.padding, s.x.padding,
          to + c * padded.image(), padded.rows, padded.row);
  }
  return to;
}

// How far each element of a window lies from the window's first pixel.
std::vector<int64_t> window_offsets(const ConvShape& s, const Padded& padded) {
  std::vector<int64_t> offsets;
  for (int64_t c = 0; c < s.in_channels; ++c) {
    for (int64_t i = 0; i < s.y.kernel; ++i) {
      for (int64_t j = 0; j < s.x.kernel; ++j) {
        offsets.push_back(c * padded.image() + i * s.y.dilation * padded.row + j * s.x.dilation);
      }
    }
  }
  return offsets;
}

// Calls body(first pixel of the tile in the output, place in the tile, count) for each stretch of
// pixels of a tile that belong to the output.
template <class Body>
void over_stretches(const ConvShape& s, const Padded& padded, int64_t start, int64_t count,
                    Body body) {
  for (int64_t i = 0; i < count;) {
    const int64_t y = (start + i) / padded.row, x = (start + i) % padded.row;
    if (x < s.x.out) body(y * s.x.out + x, i, std::min(count - i, s.x.out - x));
    i += padded.row - x;
  }
}

template <class T>
void convolve_tiles(const ConvShape& s, const Padded& padded, const std::vector<int64_t>& offsets,
                    const T* image, const T* weight, const T* bias, T* out, int64_t begin,
                    int64_t end) {
  const int64_t m = s.out_channels, size = window_size(s), pixels = padded.pixels(s);
  T* results = scratch<T>(1, m * pixel_tile);
  for (int64_t tile = begin; tile < end; ++tile) {
    const int64_t start = tile * pixel_tile, count = std::min(pixel_tile, pixels - start);
    for (int64_t o = 0; bias && o < m; ++o) std::fill_n(results + o * pixel_tile, count, bias[o]);
    products<T>().columns_at(m, count, size, weight, size, image + start, offsets.data(),
                             bias != nullptr, results, pixel_tile);
    over_stretches(s, padded, start, count, [&](int64_t pixel, int64_t at, int64_t some) {
      for (int64_t o = 0; o < m; ++o) {
        std::copy_n(results + o * pixel_tile + at, some, out + o * out_pixels(s) + pixel);
      }
    });
  }
}

// ---- other strides -----------------------------------------------------------------------------

// Calls body(row of the input or -1, first x, count) for stretches of output pixels in one row.
template <class Body>
void over_rows(const ConvShape& s, int64_t start, int64_t count, int64_t i, Body body) {
  for (int64_t done = 0; done < count;) {
    const int64_t y = (start + done) / s.x.out, x = (start + done) % s.x.out;
    const int64_t some = std::min(count - done, s.x.out - x);
    const int64_t row = y * s.y.stride - s.y.padding + i * s.y.dilation;
    body(row >= 0 && row < s.y.in ? row : -1, x, done, some);
    done += some;
  }
}

// The windows of `count` output pixels as columns: one row for each element of a window of channels
// first..last.
template <class T>
void copy_windows(const ConvShape& s, const T* image, int64_t first, int64_t last, int64_t start,
                  int64_t count, T* to) {
  for (int64_t c = first; c < last; ++c) {
    const T* plane = image + c * in_pixels(s);
    for (int64_t i = 0; i < s.y.kernel; ++i) {
      for (int64_t j = 0; j < s.x.kernel; ++j, to += count) {
        over_rows(s, start, count, i, [&](int64_t row, int64_t x, int64_t at, int64_t some) {
          if (row < 0) {
            std::fill_n(to + at, some, T(0));
            return;
          }
          const T* from = plane + row * s.x.in;
          int64_t column = x * s.x.stride - s.x.padding + j * s.x.dilation;
          for (int64_t k = 0; k < some; ++k, column += s.x.stride) {
            to[at + k] = column >= 0 && column < s.x.in ? from[column] : T(0);
          }
        });
      }
    }
  }
}

// The way back: adds columns to where they came from.
template <class T>
void add_windows(const ConvShape& s, const T* from, int64_t first, int64_t last, int64_t start,
                 int64_t count, T* image) {
  for (int64_t c = first; c < last; ++c) {
    T* plane = image + c * in_pixels(s);
    for (int64_t i = 0; i < s.y.kernel; ++i) {
      for (int64_t j = 0; j < s.x.kernel; ++j, from += count) {
        over_rows(s, start, count, i, [&](int64_t row, int64_t x, int64_t at, int64_t some) {
          if (row < 0) return;
          T* to = plane + row * s.x.in;
          int64_t column = x * s.x.stride - s.x.padding + j * s.x.dilation;
          for (int64_t k = 0; k < some; ++k, column += s.x.stride) {
            if (column >= 0 && column < s.x.in) to[column] += from[at + k];
          }
        });
      }
    }
  }
}

// Calls body(first channel, last channel, first row of windows) so that few windows are copied at
// a time.
template <class Body>
void over_channels(const ConvShape& s, Body body) {
  const int64_t area = s.y.kernel * s.x.kernel, some = std::max<int64_t>(1, window_rows / area);
  for (int64_t c = 0; c < s.in_channels; c += some) {
    body(c, std::min(s.in_channels, c + some), c * area);
  }
}

template <class T>
void convolve_strided(const ConvShape& s, const T* image, const T* weight, const T* bias, T* out,
                      int64_t begin, int64_t end) {
  const int64_t m = s.out_channels, size = window_size(s), pixels = out_pixels(s);
  for (int64_t tile = begin; tile < end; ++tile) {
    const int64_t start = tile * pixel_tile, count = std::min(pixel_tile, pixels - start);
    for (int64_t o = 0; bias && o < m; ++o) std::fill_n(out + o * pixels + start, count, bias[o]);
    over_channels(s, [&](int64_t first, int64_t last, int64_t row) {
      const int64_t rows = (last - first) * s.y.kernel * s.x.kernel;
      T* windows = scratch<T>(0, rows * count);
      copy_windows(s, image, first, last, start, count, windows);
      products<T>().product({m, count, rows, false, false, bias != nullptr || row > 0},
                            weight + row, size, windows, count, out + start, pixels);
    });
  }
}

template <class T>
void spread_strided(const ConvShape& s, const T* out, const T* weight, const T* bias, T* image) {
  const int64_t m = s.out_channels, size = window_size(s), pixels = out_pixels(s);
  for (int64_t c = 0; c < s.in_channels; ++c) {
    std::fill_n(image + c * in_pixels(s), in_pixels(s), bias ? bias[c] : T(0));
  }
  const int64_t wide = 4 * pixel_tile;
  for (int64_t start = 0; start < pixels; start += wide) {
    const int64_t count = std::min(wide, pixels - start);
    over_channels(s, [&](int64_t first, int64_t last, int64_t row) {
      const int64_t rows = (last - first) * s.y.kernel * s.x.kernel;
      T* windows = scratch<T>(0, rows * count);
      products<T>().product({rows, count, m, true, false, false}, weight + row, size, out + start,
                            pixels, windows, count);
      add_windows(s, windows, first, last, start, count, image);
    });
  }
}

// ---- all images --------------------------------------------------------------------------------

// About how many multiplications a piece of work for a thread should have.
constexpr int64_t enough_work = 1 << 20;

// Calls body(image, first tile, last tile), over images and, if those are few, over tiles of pixels.
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
  const int64_t size = window_size(s), weights = s.out_channels * size;
  const bool shifted = s.y.stride == 1 && s.x.stride == 1;
  const Padded padded(s);
  const std::vector<int64_t> offsets = shifted ? window_offsets(s, padded) : std::vector<int64_t>();
  const int64_t pixels = shifted ? padded.pixels(s) : out_pixels(s);
  const int64_t tiles = (pixels + pixel_tile - 1) / pixel_tile;
  over_images(s.batch * s.groups, tiles, weights * pixel_tile,
              [&](int64_t i, int64_t begin, int64_t end) {
                const int64_t group = i % s.groups;
                const T* image = input + i * s.in_channels * in_pixels(s);
                T* out = output + i * s.out_channels * out_pixels(s);
                const T* own_weight = weight + group * weights;
                const T* own_bias = bias ? bias + group * s.out_channels : nullptr;
                if (shifted) {
                  convolve_tiles(s, padded, offsets, padded_image(s, padded, image), own_weight,
                                 own_bias, out, begin, end);
                } else {
                  convolve_strided(s, image, own_weight, own_bias, out, begin, end);
                }
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

// The weight's gradient of one group, for columns first..last of windows: each image's dot products
// of the output's rows with the shifted image.
template <class T>
void weight_of_group(const ConvShape& s, const Padded& padded, const std::vector<int64_t>& offsets,
                     const T* image, const T* out, int64_t first, int64_t last, bool accumulate,
                     T* weight) {
  // Some rows of the output at a time, spaced like the padded image, zeros in between.
  const int64_t size = window_size(s), m = s.out_channels;
  const int64_t some = std::clamp<int64_t>(512 / padded.row, 1, s.y.out);
  T* spaced = scratch<T>(1, m * some * padded.row);
  for (int64_t y = 0; y < s.y.out; y += some) {
    const int64_t rows = std::min(some, s.y.out - y), pixels = (rows - 1) * padded.row + s.x.out;
    for (int64_t o = 0; o < m; ++o) {
      place(out + o * out_pixels(s) + y * s.x.out, rows, s.x.out, 0, 0, spaced + o * rows * padded.row,
            rows, padded.row);
    }
    products<T>().dots_at(m, last - first, pixels, spaced, rows * padded.row, image + y * padded.row,
                          offsets.data() + first, accumulate || y > 0, weight + first, size);
  }
}

template <class T>
void weight_strided(const ConvShape& s, const T* image, const T* out, int64_t first, int64_t last,
                    bool accumulate, T* weight) {
  const int64_t size = window_size(s), pixels = out_pixels(s), wide = 8 * pixel_tile;
  const int64_t area = s.y.kernel * s.x.kernel, rows = (last - first) * area;
  for (int64_t start = 0; start < pixels; start += wide) {
    const int64_t count = std::min(wide, pixels - start);
    T* windows = scratch<T>(1, rows * count);
    copy_windows(s, image, first, last, start, count, windows);
    products<T>().product({s.out_channels, rows, count, false, true, accumulate || start > 0},
                          out + start, pixels, windows, count, weight + first * area, size);
  }
}

template <class T>
void convolve_weight_all(const ConvShape& s, const T* input, const T* output, T* weight) {
  const int64_t size = window_size(s), weights = s.out_channels * size;
  const bool shifted = s.y.stride == 1 && s.x.stride == 1;
  const Padded padded(s);
  const std::vector<int64_t> offsets = shifted ? window_offsets(s, padded) : std::vector<int64_t>();
  const base::BlockingRegion region(s.batch * s.groups * weights * out_pixels(s) > enough_work);
  // Threads share out the elements of the weight, so that each is added up in one order.
  const int64_t area = s.y.kernel * s.x.kernel;
  const int64_t some = std::max<int64_t>(1, std::min(s.in_channels, 256 / area));
  const int64_t parts = (s.in_channels + some - 1) / some;
  base::parallel_for(
      s.groups * parts, enough_work / (s.batch * weights / parts * out_pixels(s) + 1) + 1,
      [&](int64_t begin, int64_t end) {
        int64_t done = -1;  // the image that is padded now
        const T* image = nullptr;
        for (int64_t n = 0; n < s.batch; ++n) {
          for (int64_t p = begin; p < end; ++p) {
            const int64_t group = p / parts, c = p % parts * some, i = n * s.groups + group;
            const int64_t last = std::min(s.in_channels, c + some);
            const T* own = input + i * s.in_channels * in_pixels(s);
            const T* out = output + i * s.out_channels * out_pixels(s);
            if (!shifted) {
              weight_strided(s, own, out, c, last, n > 0, weight + group * weights);
              continue;
            }
            if (i != done) image = padded_image(s, padded, own);
            done = i;
            weight_of_group(s, padded, offsets, image, out, c * area, last * area, n > 0,
                            weight + group * weights);
          }
        }
      });
}

}  // namespace

void convolve(const ConvShape& shape, const Array& input, const Array& weight, const Array* bias,
              const Array& output) {
  if (output.dtype == DType::f32) {
    convolve_all(shape, input.as<float>(), weight.as<float>(), bias ? bias->as<float>() : nullptr,
                 output.as<float>());
  } else {
    convolve_all(shape, input.as<double>(), weight.as<double>(),
                 bias ? bias->as<double>() : nullptr, output.as<double>());
  }
}

void convolve_transposed(const ConvShape& shape, const Array& output, const Array& weight,
                         const Array* bias, const Array& input) {
  if (input.dtype == DType::f32) {
    convolve_transposed_all(shape, output.as<float>(), weight.as<float>(),
                            bias ? bias->as<float>() : nullptr, input.as<float>());
  } else {
    convolve_transposed_all(shape, output.as<double>(), weight.as<double>(),
                            bias ? bias->as<double>() : nullptr, input.as<double>());
  }
}

void convolve_weight(const ConvShape& shape, const Array& input, const Array& output,
                     const Array& weight) {
  if (weight.dtype == DType::f32) {
    convolve_weight_all(shape, input.as<float>(), output.as<float>(), weight.as<float>());
  } else {
    convolve_weight_all(shape, input.as<double>(), output.as<double>(), weight.as<double>());
  }
}

}  // namespace weft::kernels
