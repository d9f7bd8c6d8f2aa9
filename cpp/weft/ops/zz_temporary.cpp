#include "ops.h"
namespace weft::ops {
using namespace graph;
OP(avg_pool1d) { .signature = "avg_pool1d(input: Tensor) -> Tensor", .doc = "Comes later.", .shape = of_parts(), .run = composite([](const Call& call) -> Values { call.fail(base::ErrorKind::unsupported, "later"); }), .gradient = of_parts() };
OP(avg_pool2d) { .signature = "avg_pool2d(input: Tensor) -> Tensor", .doc = "Comes later.", .shape = of_parts(), .run = composite([](const Call& call) -> Values { call.fail(base::ErrorKind::unsupported, "later"); }), .gradient = of_parts() };
OP(conv1d) { .signature = "conv1d(input: Tensor) -> Tensor", .doc = "Comes later.", .shape = of_parts(), .run = composite([](const Call& call) -> Values { call.fail(base::ErrorKind::unsupported, "later"); }), .gradient = of_parts() };
OP(conv2d) { .signature = "conv2d(input: Tensor) -> Tensor", .doc = "Comes later.", .shape = of_parts(), .run = composite([](const Call& call) -> Values { call.fail(base::ErrorKind::unsupported, "later"); }), .gradient = of_parts() };
OP(conv_transpose1d) { .signature = "conv_transpose1d(input: Tensor) -> Tensor", .doc = "Comes later.", .shape = of_parts(), .run = composite([](const Call& call) -> Values { call.fail(base::ErrorKind::unsupported, "later"); }), .gradient = of_parts() };
OP(conv_transpose2d) { .signature = "conv_transpose2d(input: Tensor) -> Tensor", .doc = "Comes later.", .shape = of_parts(), .run = composite([](const Call& call) -> Values { call.fail(base::ErrorKind::unsupported, "later"); }), .gradient = of_parts() };
}
