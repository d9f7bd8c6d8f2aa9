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
p = {a}; o = weft.optim.SGD([p], lr={v}); p.grad = {b}; o.step()
""".splitlines()
