"""Lines with holes: operators, indexing, protocols and small stories that no signature tells.

{a}, {b}, {c} are tensors, {i} is an index, {v} any value. A line that stands here several times is
drawn more often.
"""

from __future__ import annotations

# Expressions; later lines may use their results.
FORMS = """\
{a} + {b}
{a} - {b}
{a} * {b}
{a} / {b}
{a} // {b}
{a} % {b}
{a} ** {b}
{a} @ {b}
{a} + {v}
{v} + {a}
{v} - {a}
{a} / {v}
{v} / {a}
{v} // {a}
{a} % {v}
{v} % {a}
{a} ** {v}
{v} ** {a}
{a} @ {v}
{v} @ {a}
{a} & {b}
{a} | {v}
{a} ^ {b}
{a} << {v}
{a} >> {b}
{a} == {v}
{a} != {b}
{a} < {v}
{a} <= {b}
{v} > {a}
{a} >= {v}
-{a}
+{a}
~{a}
abs({a})
len({a})
list({a})
bool({a})
int({a})
float({a})
operator.index({a})
repr({a})
str({a})
hash({a})
divmod({a}, {v})
{v} in {a}
round({a})
format({a}, {v})
np.asarray({a})
np.add({a}, {v})
np.sum({a})
{a}[{i}]
{a}[{i}]
{a}[{i}]
{a}[{i}]
np.array({a}, {v})
sum({a})
max({a})
copy.copy({a})
copy.deepcopy({a})
pickle.loads(pickle.dumps({a}))
pickle.loads(pickle.dumps({a})[:{v}])
weft.from_dlpack({a})
np.from_dlpack({a})
weft.from_numpy({v})
weft.as_tensor({v})
weft.tensor({v})
weft.from_dlpack({v})
weft.asarray({v})
weft.Tensor({v})
weft.Tensor({v}, {v})
weft.tensor({v}, dtype={v})
weft._tensor._rebuild({v}, {v}, {v})
weft.Size({v})
weft.device({v})
weft.Generator().manual_seed({v})
weft.Generator().set_state({v})
weft.randn(3, generator={v})
{a}.T
{a}.mT
{a}.grad
{a}._base
{a}.nbytes
{a}.grad_fn.next_functions
{a}.grad_fn.variable
{a}.grad_fn._saved_tensors
weft.autograd.grad({a}, {b})
weft.autograd.grad({a}, {a})
weft.autograd.grad({v}, {v})
weft.autograd.grad({a}, {a}, {b})
weft.autograd.grad([{a}, {b}], [{b}, {a}])
weft.autograd.backward({a}, {b})
{a}.backward({b})
{a}.backward({v})
{a}.backward(inputs={b})
{a}.backward({b}, inputs=[{a}])
{a}.sum().backward(inputs={v})
Custom.apply({a}, {v})
Custom.apply({a}, {b})
Custom.apply({v})
Custom.apply()
weft.cat([{a}, {b}, {c}])
weft.stack([{a}, {a}])
weft.cat([{a}] * 300)
weft.stack([{a}] * 40, {v})
weft.einsum({v}, {a}, {b})
weft.einsum('ij,jk', {a}, {b})
pow({a}, {b}, {v})
type({a}.grad_fn)()
type(weft.tanh)()
type(weft.tanh)()({a})
repr(type(weft.tanh)())
type(weft.float32)()
copy.copy({a}.grad_fn).name()
copy.copy(weft.tanh)({a})
copy.deepcopy(weft.float32)
pickle.loads(pickle.dumps(weft.tanh))({a})
pickle.loads(pickle.dumps({a}.grad_fn))
pickle.loads(pickle.dumps(weft.Generator())).get_state()
copy.copy(weft.Generator()).get_state()
weft.Tensor.__new__({v})
weft.Tensor.__new__(weft.nn.Parameter, {v})
weft.Tensor._make_subclass({v}, {a})
weft.Tensor._make_subclass(weft.nn.Parameter, {a}, {v})
weft.Tensor.__add__({v}, {a})
weft.Tensor.tanh({v})
weft.Tensor.size({a}, {v})
weft.Tensor.stride({a}, {v})
weft.Tensor.shape.__get__({v})
object.__reduce_ex__({a}, 2)
{a}.__init__({v})
{a}.__array__({v})
{a}.__dlpack__(copy={v})
np.asarray({a})[{i}]
np.from_dlpack({a}.detach())[{i}]
memoryview({a}.numpy())
{a}.numpy().resize(100)
[row.sum() for row in {a}]
[[x.item() for x in row] for row in {a}]
{a}.expand(3, *{a}.shape)[{i}]
{a}.detach()[{i}]
{a}.view(-1)[{i}]
{a}.unsqueeze(0).transpose(0, -1)[{i}]
weft.nn.functional.embedding({b}, {a})
weft.nn.functional.one_hot({a}, {v})
weft.nn.functional.cross_entropy({a}, {b})
weft.nn.functional.pad({a}, {v}, {v}, {v})
weft.nn.functional.conv2d({a}, {b}, None, {v}, {v}, {v}, {v})
weft.gather({a}, {v}, {b})
weft.scatter_add({a}, 0, {b}, {c})
weft.index_select({a}, 0, {b})
weft.where({a} > 0, {b}, {v})
weft.multinomial({a}.abs(), {v})
weft.as_strided({a}, {v}, {v}, {v})
weft.as_strided({a}, {a}.shape, [2**62] * {a}.ndim)
weft.repeat_interleave({a}, {b})
weft.bincount({a}, {b}, {v})
weft.topk({a}, {v})
weft.autograd.functional.jacobian(lambda x: x * {v}, {a})
weft.autograd.functional.hessian(lambda x: (x * {b}).sum(), {a})
weft.autograd.functional.jvp(lambda x: x.exp(), {a}, {b})
weft.autograd.functional.vjp(lambda x: x[{i}], {a}, {b})
weft.autograd.gradcheck(lambda x: x * {v}, {a})
weft.utils.checkpoint.checkpoint(lambda x: x * {v}, {a}, use_reentrant=False)
weft.utils.checkpoint.checkpoint({v}, {a}, use_reentrant={v})
""".splitlines()

# Statements.
STATEMENTS = """\
{a}[{i}] = {b}
{a}[{i}] = {v}
{a}[{i}] = {b}
{a}[{i}] = {a}
{a}[{i}] = {v}
{a} += {b}
{a} -= {v}
{a} *= {b}
{a} /= {b}
{a} //= {b}
{a} %= {v}
{a} **= {b}
{a} &= {b}
{a} |= {v}
{a} ^= {b}
{a} @= {b}
{a} <<= {v}
{a} >>= {b}
{a}.grad = {b}
{a}.grad = {v}
{a}.data = {b}
{a}.data = {v}
{a}.requires_grad = {v}
del {a}[{i}]
del {a}.grad
{a}.anything = {v}
{a}.shape = {v}
{a}.grad_fn = {v}
{a}.register_hook(lambda g: {v}); back({a})
{a}.register_hook(lambda g: {b}); back({a})
{a}.register_hook({v})
{a}.register_post_accumulate_grad_hook({v}); back({a})
{a}.retain_grad(); back({a})
{a}.requires_grad_(); back({a} * {b})
Custom.answer = {v}; back(Custom.apply({a}, {b}))
Custom.answer = ({a}, {v}); back(Custom.apply({a}, {b}))
with weft.autograd.graph.saved_tensors_hooks(lambda t: {v}, lambda t: {v}): back({a} * {b})
with weft.autograd.graph.saved_tensors_hooks({v}, {v}): back({a}.exp())
{a}.data = {b}; back({a} * {a})
y = {a} * {b}; {a}.add_(1); back(y)
y = {a}.exp(); y[{i}] = {b}; back(y)
y = {a} * 1; y.view(-1)[{v}:] = {b}; back(y)
y = {a} * 1; z = y[{i}]; z.mul_({b}); back(y); back(z)
y = {a} * 1; z = y.detach(); z.zero_(); y.add_(z); back(y)
y = {a}.clone(); y.t_() if hasattr(y, 't_') else y.T; y.fill_({v}); back(y)
y = {a} * 1; z = y.unbind(); y.add_(1); z[0].add_(1)
with weft.no_grad(): {a}.copy_({b})
with weft.inference_mode(): y = {a} * {b}; z = y[{i}]
p = {a}; o = optim.SGD([p], lr={v}); p.grad = {b}; o.step()
{a}[1:] = {a}[:-1]
{a}[:-1] = {a}[1:]
{a}.copy_({a}.T)
{a}.T.add_({a}); back({a})
{a}.add_({a}[0]); back({a})
{a}.mul_({a}.expand({a}.shape)); back({a})
{a}.view(-1)[::2] = {a}.view(-1)[1::2]
{a}.scatter_(0, {b}, {a}); back({a})
{a}.index_add_(0, {b}, {a}); back({a})
{a}.index_put_(({b},), {c}, {v})
{a}.masked_fill_({b}, {v}); back({a})
{a}.clamp_({b}, {c}); back({a})
{a}.expand(2, *{a}.shape).add_({v})
{a}.as_strided({v}, {v}).add_({v})
{a}.__class__ = weft.nn.Parameter
{a}.__class__ = int
{a}.__dict__ = {v}
{a}.me = {a}; del {a}; gc.collect()
{a}.register_hook(lambda g, x={a}: x.grad); back({a}); gc.collect()
h = {a}.register_hook(lambda g: h.remove()); back({a}); h.remove()
{a}.register_hook(lambda g: {a}.register_hook(lambda g: {v})); back({a})
{a}.register_hook(lambda g: g.mul_({v})); back({a})
{a}.register_hook(lambda g: {a}.sum().backward()); back({a})
{a}.register_hook(lambda g: {b}.data.resize_({v})); back({a} * {b})
{a}.register_post_accumulate_grad_hook(lambda p: p.data.add_(p.grad)); back({a})
{a}.register_post_accumulate_grad_hook(lambda p: setattr(p, 'grad', {v})); back({a})
y = {a} * {b}; n = y.grad_fn; del y; gc.collect(); n.next_functions; n._saved_tensors
y = {a}.exp(); n = y.grad_fn; back(y.clone()); n._saved_tensors; back(y)
y = {a} * 2; y.retain_grad(); z = y[{i}]; y.add_(1); back(z); back(y)
y = ({a} * 2).view(-1); z = y.detach(); y.data = {b}; back(y * z)
n = {a}.detach().numpy(); del {a}; n[...] = 1
n = np.ones(4); t = weft.from_numpy(n); del n; t.add_({v}); t[{i}] = {b}
t = weft.from_dlpack(np.ones((2, 3))); gc.collect(); t.T[{i}] = {b}
c = {a}.__dlpack__(); weft.from_dlpack(c); weft.from_dlpack(c)
in_threads(lambda: back({a} * {b}))
in_threads(lambda: {a}.add_(1))
in_threads(lambda: weft.matmul({a}, {b}).sum().item())
y = {a}; y = functools.reduce(lambda x, _: x * 1.01, range(3000), y); back(y); del y
y = {a} * 1; ys = y.split(1); ys[0].mul_({v}); back(y)
y = {a} * 1; y[{i}] = y[{i}]; back(y)
y = {a} * 1; y[{i}] = {b}; back(y, True)
y = {a} * 1; y.view(-1)[0] = {b}; y.T.mul_(2); back(y, True)
y = weft.stack([{a}, {b}]); y[0].copy_(y[1]); back(y)
y = {a}.detach().requires_grad_(); z = Custom.apply(y, y); z.add_({v}); back(z)
with weft.no_grad(): y = {a}.view(-1); y += {v}
with weft.enable_grad(): weft.autograd.backward([{a}, {b}], [{b}, {a}])
weft.autograd.grad({a} * {b}, [{a}, {b}], {c}, create_graph={v}, retain_graph={v}, allow_unused={v})
weft.set_printoptions({v}, {v}, {v}, {v}); repr({a})
weft.set_num_threads({v}); weft.ones(300, 300).sum()
m = weft.nn.Linear(3, 3); m.weight = {a}; back(m({b}))
m = weft.nn.Linear(3, 3); m.load_state_dict(dict(weight={a}, bias={v}))
m = weft.nn.LSTM(4, 3, num_layers=2, bidirectional={v}); back(m({a}, {v}))
m = weft.nn.Embedding(5, 3, padding_idx={v}); back(m({a}))
m = weft.nn.Dropout({v}); back(m({a}))
p = Parameter({a}); o = optim.Adam([p], lr={v}, betas=({v}, {v})); p.grad = {b}; o.step(); o.step()
p = Parameter({a}); o = optim.Adam([p]); back(p); o.step(); o.state[p]['exp_avg'] = {c}; o.step()
p = {a}; o = optim.SGD([p], lr=0.1, momentum={v}); p.grad = {b}; o.step(); p.data = {c}; o.step()
o = optim.Adam([{a}]); o.load_state_dict({v}); o.step()
weft.nn.utils.clip_grad_norm_([{a}], {v})
weft.nn.utils.rnn.pad_sequence([{a}, {b}], {v}, {v})
""".splitlines()
