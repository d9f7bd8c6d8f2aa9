"""Lines of functions over one example, and the ways in which such functions run.

{x} and {y} are tensors that the function has, {w} and {u} are tensors of all examples, {new} is the
name of a result, {f} a function, {v} any value, {i} an index, {n} a small number. A list may have a
line several times, which is then drawn more often. `m` is a module, `c` a declared cell, `kept` a
list, and all three are of all examples; `xs` is the list of examples.
"""

from __future__ import annotations

# They only compute and decide: a function of these alone may be replayed.
PURE = r"""
{new} = {x}.tanh() * {w}
{new} = {x} * {w} + {x}
{new} = ({x} + {u}).sin()
{new} = {x} / 2 - {w}
{new} = {x} - {y}
{new} = {x} * {y}
{new} = {x} * {n}
{new} = weft.where({x} > 0, {x}, {w})
{new} = {x}.mean() * {x}
{new} = {x}.sum().expand(3)
{new} = weft.cat([{x}, {x}])
{new} = weft.stack([{x}, {y}, {w}]).sum(0)
{new} = weft.nn.functional.softmax({x}, -1)
{new} = weft.nn.functional.layer_norm({x}, {x}.shape[-1:])
{new} = {x}.reshape(-1)[0]
{new} = {x}.flatten()[1:]
{new} = {x}.unsqueeze(0).expand(2, *{x}.shape)
{new} = {x}.T @ {x}
{new} = {x} @ {w}.T
{new} = {x}[{i}]
{new} = {x}.detach()
{new} = {x}.to(weft.float64)
{new} = {x}.sort().values
{new} = {x}.max(-1).values
{new} = {x}.unbind()[0]
{new} = m({x})
{new} = m({x}) * {w}
{new} = net({x})
{new} = c({x})
{new} = c({x}) + c({y})
{new} = {x} if {x}.sum() > 0 else {y}
{new} = {x} * 2 if {x}.sum() > 0 else {x}.exp()
{new} = {x} * {x}.argmax().item()
{new} = {x} * {x}.sum().item()
{new} = [{x}[k] * k for k in range(len({x}))][-1]
for k in range({n}): {x} = {x} * {w}
for k in range({n}): {x} = ({x} * {u}).tanh() + k
for k in range({n}):\n    if {x}.abs().sum() < 1: break\n    {x} = {x} / 2
if {x}.sum() > {y}.sum():\n    {x} = {x} * 2\nelse:\n    {x} = m({x})
while 1 < {x}.abs().max() < 1e30: {x} = {x} / 3
assert {x}.sum() > -1
""".strip().splitlines()

# Writes, hooks, derivatives, random numbers, modes, and what examples share.
WILD = r"""
{new} = {x} * 1; {new}.add_({w})
{new} = {x}.clone(); {new}.mul_({new})
{new} = {x} * 1; {new}[{i}] = {w}
{new} = {x} * 1; {new}[{i}] = {v}
{new} = {x} * 1; {new}.view(-1)[0] = 2.0
{new} = {x} * 1; {new}.view(-1).mul_(2); {new}.T.add_(1)
{new} = {x} * 1; {new}[0].copy_({new}[-1])
{new} = {x} * 1; {new}[{new} > 0] = 0.5
{new} = {x}.view(-1); {new}.mul_({n})
{new} = {x}.detach(); {new}.add_({x}.detach())
{new} = {x}.exp(); {new}.add_(1)
{new} = {x} * 1; {y} = {new}.view(-1); {new}.mul_({y}.sum()); {y}.add_(1)
{x}.add_(1)
{x}.mul_({w})
{x}.detach().zero_()
{x}[{i}] = {y}
{w}.add_({x}.detach())
{w}.detach().mul_(0.5)
{w}[{i}] = {x}.detach()
{w}[{i}] += {x}.detach()
{u}.add_({x}.detach().sum())
{u}.copy_({x})
{u}.data = {x}.detach()
{u}.index_add_(0, weft.tensor([0]), {x}.detach()[:1])
with weft.no_grad(): {w}.add_({x}); {w}.view(-1)[0] = {x}.sum().item()
xs[0].detach().add_(1)
xs.pop()
xs.clear()
kept.append({x})
kept.append({x}.sum()); {new} = weft.stack(kept[-2:])
{new} = kept[-1] + {x}
kept[0].sum().backward()
kept.clear(); gc.collect()
{x}.register_hook(lambda g: g * 2)
{x}.register_hook(lambda g: g * {w})
{x}.register_hook(lambda g: g if g.sum() > 0 else {v})
{x}.register_hook(lambda g: g.mul_({x}.detach()))
{x}.register_hook(lambda g: kept.append(g.sum().item()))
{x}.register_hook(lambda g: {v})
{w}.register_hook(lambda g: g + {x})
{x}.register_post_accumulate_grad_hook(lambda p: p.grad.mul_({n}))
{x}.retain_grad()
{x}.requires_grad_()
{new} = {x}.detach().requires_grad_()
{x}.sum().backward()
{x}.sum().backward(retain_graph=True)
({x} * {w}).sum().backward(retain_graph=True)
({x} * {x}).sum().backward(create_graph=True)
({x} * {w}).sum().backward(inputs=[{w}])
{x}.backward({y})
weft.autograd.backward([{x}, {y}], [{y}, {x}])
{new} = {x}.grad
{new} = {x}.grad * {x}
{w}.grad = None
{new} = weft.autograd.grad(({x} * {w}).sum(), {x}, create_graph=True)[0]
{new} = weft.autograd.grad(({x} * {w}).sin().sum(), {w}, retain_graph=True)[0]
{new} = weft.autograd.grad({x}.exp().sum(), {x}, create_graph=True)[0] * {x}
{new} = weft.autograd.grad({x}.sum(), [{x}, {w}], allow_unused=True)[0]
{new} = weft.autograd.grad({x}, {y}, {w}, create_graph=True)[0]
{new} = weft.autograd.grad(c({x}).sum(), {x}, create_graph=True)[0]
{new} = weft.func.grad(lambda t: (t * {w}).sin().sum())({x})
{new} = weft.func.grad(lambda t: total({f}(t)))({x})
{new} = weft.func.jacrev(lambda t: t * {w})({x})
{new} = weft.func.jacfwd(lambda t: t.sin())({x})
{new} = weft.func.jvp({f}, ({x},), ({y},))[1]
{new} = weft.func.vjp(lambda t: t * {w}, {x})[1]({y})[0]
{new} = weft.vmap(lambda t: t * {w})({x})
{new} = weft.vmap({f})({x})
{new} = weft.vmap(weft.func.grad(lambda t: (t * {w}).sum()))({x})
{new} = weft.map(lambda t: t * 2 if t.sum() > 0 else t, list({x}))[-1]
{new} = weft.map({f}, [{x}, {y}])[0]
{new} = weft.map({f}, list({x}), width={n}, return_exceptions=True)
{new} = weft.stack(weft.map(lambda t: t * {w}, [{x}] * {n}))
{new} = weft.map(lambda t: weft.autograd.grad((t * {x}).sum(), {x})[0], [{w}, {u}])[0]
{new} = weft.map({f}, {v}, batch={v}, width={v}, replay={v})
{new} = {f}({x})
{new} = weft.cell(lambda t: t.tanh() * {w})({x})
{new} = weft.cell({f})({x}); {new} = weft.cell({f})({y})
{new} = Custom.apply({x}, {w})
{new} = weft.utils.checkpoint.checkpoint(lambda t: (t * {w}).exp(), {x}, use_reentrant=False)
{new} = weft.utils.checkpoint.checkpoint({f}, {x}, use_reentrant=False)
with weft.no_grad(): {new} = {x} * {w}
with weft.enable_grad(): {new} = {x} * {w}
with weft.inference_mode(): {new} = {x} * 2
with weft.lazy(): {new} = {x} * {w} + {f}({x})
with weft.lazy(False): {new} = {x} * {w}
with weft.lazy({v}): {new} = {x}.tanh()
with weft.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t): {new} = {x}.exp()
with weft.autograd.graph.saved_tensors_hooks(weft.Tensor.numpy, weft.from_numpy): {new} = {x}.sin()
with weft.autograd.graph.saved_tensors_hooks(lambda t: {v}, lambda t: {v}): {new} = {x} * {w}
with weft.autograd.graph.saved_tensors_hooks({f}, {f}): {new} = {x}.exp()
with weft.autograd.graph.save_on_cpu(): {new} = m({x})
with weft.autograd.set_detect_anomaly(True): {new} = {x} * {w}; {new}.sum().backward()
h = m.register_forward_hook(lambda m, a, r: r * {w}); {new} = m({x}); h.remove()
h = m.register_forward_pre_hook(lambda m, a: (a[0] * 2,)); {new} = m({x}); h.remove()
h = net.register_full_backward_hook(lambda m, g, o: None); {new} = net({x}); h.remove()
h = net.register_full_backward_hook(lambda m, g, o: (g[0] * 2,)); back(net({x})); h.remove()
m.register_forward_hook(lambda m, a, r: {v})
m.register_full_backward_pre_hook(lambda m, g: {v})
m.weight = weft.nn.Parameter(m.weight * 2)
m.weight.data.add_(0.1)
m.train(not m.training)
net.flag = {v}
{new} = weft.nn.functional.dropout({x}, 0.5)
{new} = {x} + weft.rand({x}.shape)
{new} = weft.bernoulli({x}.sigmoid())
weft.manual_seed({n})
{new} = {x}.tolist()
{new} = np.asarray({x}.detach())
{new} = np.asarray({x}.detach()); {new}[...] = 1
{new} = weft.from_numpy(np.asarray({x}.detach()))
{new} = pickle.loads(pickle.dumps({x}))
{new} = copy.deepcopy({x})
{new} = {x}.as_strided({v}, {v})
{x}.data = {v}
{x}.data = {y}
{new} = {x} + {v}
{new} = [repr({x}), str({w})]
{new} = {x}.grad_fn.next_functions
{new} = {x}.grad_fn._saved_tensors
in_threads(lambda: {x}.sum().item())
in_threads(lambda: weft.map({f}, [{x}, {y}]))
weft.explain()
weft.batching.set_memory_limit({v})
weft.set_grad_enabled({v})
raise ValueError({v})
raise GreenletExit
del {x}; gc.collect()
gc.collect()
return {x}
return {v}
""".strip().splitlines()

# What a function gives back.
RESULTS = r"""
{x}
{x}
{x} * {y}
{x}.sum()
({x}, {y})
{{'a': {x}, 'b': [{y}, None]}}
{x}.detach()
{w}
{w} * {x}
{x}.view(-1)
{x}.sum().item()
Holder({x})
(t for t in [{x}])
lambda: {x}
{v}
""".strip().splitlines()

# Functions made of functions.
WRAPPERS = r"""
weft.cell({f})
weft.cell({f})
weft.cell({f}, check=1.0)
weft.cell({f}, check={v})
weft.vmap({f})
weft.vmap({f}, randomness='different')
weft.vmap({f}, {v}, {v}, randomness={v}, chunk_size={v})
weft.vmap({f}, chunk_size={n})
weft.vmap({f}, in_dims=-1, out_dims=-1)
weft.func.grad(lambda t: total({f}(t)))
weft.func.grad({f}, argnums={v})
weft.func.grad_and_value(lambda t: total({f}(t)))
weft.func.hessian(lambda t: total({f}(t)))
weft.func.jacrev({f})
weft.func.jacfwd({f})
lambda t: weft.func.jvp({f}, (t,), (t,))[1]
lambda t: weft.func.vjp({f}, t)[1](t)
lambda t: weft.func.linearize({f}, t)[1](t)
lambda t: weft.autograd.functional.vjp({f}, t, t)[1]
lambda t: weft.map({f}, [t, t * 2])
lambda t: weft.map({f}, list(t), width={n})
lambda t: weft.map({f}, [t] * {n}, batch=False)
lambda t: weft.map({f}, (s * t for s in range(3)), return_exceptions=True)
lambda t: weft.vmap({f})(weft.stack([t, t]))
lambda t: {f}({f}(t))
lambda t: weft.autograd.grad(total({f}(t)), t, create_graph=True)[0]
lambda t: weft.utils.checkpoint.checkpoint({f}, t, use_reentrant=False)
lambda t: [{f}(t), {f}(t)]
lambda t: {f}(t.detach().requires_grad_())
lambda t, *more: (t.sum().item(), {f}(t))[1]
functools.partial({f})
lazily({f})
traced({f})
Calling({f})
Calling({f}).__call__
weft.no_grad()({f})
""".strip().splitlines()

# A list of examples.
EXAMPLES = r"""
[weft.randn({s}) for _ in range({n})]
[weft.randn({s}) * k for k in range({n})]
[weft.randn({s}).requires_grad_() for _ in range({n})]
[weft.randn({s}).requires_grad_() * 1 for _ in range({n})]
[weft.randn({s}), weft.randn({s}).T, weft.ones({s}, requires_grad=True)]
[weft.ones({s})] * {n}
list(weft.randn([{n}] + {s}))
list(weft.randn([{n}] + {s}).requires_grad_())
list(range({n}))
[{a}, {b}, {a}]
[{a}] * {n}
[{a}, {v}]
""".strip().splitlines()

# Runs; {f} is a function of one example.
RUNS = r"""
r = weft.map({f}, xs)
r = weft.map({f}, xs, width={n})
r = weft.map({f}, xs, replay=False)
r = weft.map({f}, xs, replay=False, width={n}, return_exceptions=True)
r = weft.map({f}, xs, batch=False)
r = weft.map({f}, xs, return_exceptions=True)
r = weft.map({f}, xs, width={v}, batch={v}, return_exceptions={v}, replay={v})
r = weft.map({f}, (t for t in xs if total(t) > 0))
r = weft.map({f}, (t * 2 for t in xs), width={n})
r = weft.map({f}, {v})
r = weft.map({v}, xs)
for _ in range({n}): r = weft.map({f}, xs)
for _ in range({n}): r = weft.map({f}, xs); look(r)
for _ in range({n}): r = weft.map({f}, xs); back(r)
for k in range({n}): r = weft.map({f}, xs[k % 3:])
for k in range({n}): r = weft.map({f}, xs, width=k + 1, return_exceptions=True)
for k in range({n}): r = weft.map(lambda t: {f}(t), xs)
for k in range({n}): r = weft.map({f}, xs); back(r); w.data.add_(0.1)
for k in range({n}): r = attempt(lambda: weft.map({f}, xs))
with weft.lazy(): r = [{f}(t) for t in xs]
with weft.lazy(): r = [attempt(lambda: {f}(t)) for t in xs]
with weft.lazy(): r = [{f}(t) for t in xs]; back(r)
with weft.lazy(): r = weft.map({f}, xs)
with weft.lazy(): r = weft.vmap({f})(weft.stack(xs))
for _ in range({n}):\n    with weft.lazy(): r = [{f}(t) for t in xs]\n    look(r)
for _ in range({n}):\n    with weft.lazy(): r = [{f}(t) for t in xs]\n    back(r)
r = [{f}(t) for t in xs]
r = [attempt(lambda: {f}(t)) for t in xs]
r = {f}(xs[0])
r = weft.vmap({f})(weft.stack(xs))
r = weft.vmap({f}, randomness='different')(weft.stack(xs))
r = weft.vmap({f}, {v}, {v}, randomness={v}, chunk_size={v})(weft.stack(xs))
r = weft.vmap(weft.func.grad(lambda t: total({f}(t))))(weft.stack(xs))
r = weft.func.jacrev(weft.vmap({f}))(weft.stack(xs))
r = weft.map(weft.vmap({f}), [weft.stack(xs), weft.stack(xs) * 2])
in_threads(lambda: weft.map({f}, xs)); r = xs
with weft.tracing.Recording(): r = weft.map({f}, xs)
""".strip().splitlines()

# After a run.
AFTER = r"""
look(r)
back(r)
back(r, True)
w.sum().item(); back(w * u)
xs[0].add_(1); look(r)
w.mul_(2); back(r)
with weft.lazy(): r2 = [t * 2 for t in tensors_in(r)]; look(r2)
[t.mul_(2) for t in tensors_in(r)]; back(r)
[t.register_hook(lambda g: {v}) for t in tensors_in(r)]; back(r)
del xs, kept; gc.collect(); back(r)
del r; gc.collect(); back(w)
in_threads(lambda: look(r))
weft.explain(); repr(weft.explain())
""".strip().splitlines()

ALL = (PURE, WILD, RESULTS, WRAPPERS, EXAMPLES, RUNS, AFTER)
