"""The Tree-LSTM of tree_lstm.py in DyNet with autobatch.

Runs under the interpreter of dynet_environment.py, which has neither Weft nor PyTorch:

    python dynet_trees.py folder perf_counter

The folder has weights.npz and batches.json. Prints the first batch's loss, and the seconds of a
training step of each later one, as JSON.
"""

import gc
import json
import sys
import time
from pathlib import Path

import dynet_config  # pyright: ignore[reportMissingImports]
import numpy as np

dynet_config.set(autobatch=1, mem="1024", random_seed=1)
import dynet as dy  # noqa: E402  # pyright: ignore[reportMissingImports]


class TreeLSTM:
    """The same model, weights and order of gates."""

    def __init__(self, weights):
        self.collection = dy.ParameterCollection()
        self.embedding = self.collection.add_lookup_parameters(weights["embedding.weight"].shape)
        self.embedding.init_from_array(weights["embedding.weight"])
        self.layers = {}
        for name in ("leaf", "inner", "output"):
            arrays = weights[f"{name}.bias"], weights[f"{name}.weight"]
            self.layers[name] = [
                self.collection.add_parameters(array.shape, init=array) for array in arrays
            ]
        self.size = weights["leaf.weight"].shape[1]

    def linear(self, name, values):
        return dy.affine_transform([*self.layers[name], values])

    def gates(self, values, count):
        return [dy.pick_range(values, i * self.size, (i + 1) * self.size) for i in range(count)]

    def state(self, tree):
        if len(tree) == 2:
            word = dy.lookup(self.embedding, tree[1])
            i, o, u = self.gates(self.linear("leaf", word), 3)
            c = dy.cmult(dy.logistic(i), dy.tanh(u))
        else:
            (left_h, left_c), (right_h, right_c) = self.state(tree[1]), self.state(tree[2])
            both = dy.concatenate([left_h, right_h])
            values = self.linear("inner", both)
            i, left, right, o, u = self.gates(values, 5)
            c = (
                dy.cmult(dy.logistic(i), dy.tanh(u))
                + dy.cmult(dy.logistic(left), left_c)
                + dy.cmult(dy.logistic(right), right_c)
            )
        return dy.cmult(dy.logistic(o), dy.tanh(c)), c

    def loss(self, tree):
        h, _ = self.state(tree)
        scores = self.linear("output", h)
        return dy.pickneglogsoftmax(scores, tree[0])


def main():
    """Run the steps."""
    folder, clock = Path(sys.argv[1]), getattr(time, sys.argv[2])
    with np.load(folder / "weights.npz") as file:
        model = TreeLSTM(dict(file))
    batches = json.loads((folder / "batches.json").read_text())

    def step(trees):
        # Gradients add up from step to step: DyNet clears them only in an update.
        begin = clock()
        dy.renew_cg()
        loss = dy.average([model.loss(tree) for tree in trees])
        value = loss.value()
        loss.backward()
        return value, clock() - begin

    first_loss, _ = step(batches[0])
    gc.disable()
    seconds = [step(trees)[1] for trees in batches[1:]]
    print(json.dumps({"loss": first_loss, "seconds": seconds}))


if __name__ == "__main__":
    main()
