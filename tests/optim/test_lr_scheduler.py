"""Schedulers: the learning rates they set."""

from __future__ import annotations

import math

import pytest

import weft
from weft import nn, optim
from weft.optim import lr_scheduler as schedule


def rates(make, steps, lr=0.5, measures=None):
    """Return the learning rate at the start and after each step."""
    optimizer = optim.SGD([nn.Parameter(weft.zeros(1))], lr=lr)
    scheduler = make(optimizer)
    found = [optimizer.param_groups[0]["lr"]]
    for i in range(steps):
        if measures is None:
            scheduler.step()
        else:
            scheduler.step(measures[i])
        found.append(optimizer.param_groups[0]["lr"])
        assert scheduler.get_last_lr() == [found[-1]]
    return found


def cosine(step, length, high=0.5, low=0.0):
    return low + (high - low) * (1 + math.cos(math.pi * step / length)) / 2


CASES = {
    "step": (lambda o: schedule.StepLR(o, 2, 0.1), [0.5, 0.5, 0.05, 0.05, 0.005]),
    "milestones": (lambda o: schedule.MultiStepLR(o, [1, 3], 0.1), [0.5, 0.05, 0.05, 0.005, 0.005]),
    "exponential": (lambda o: schedule.ExponentialLR(o, 0.5), [0.5, 0.25, 0.125, 0.0625]),
    "lambda": (lambda o: schedule.LambdaLR(o, lambda i: 1 / (i + 1)), [0.5, 0.25, 0.5 / 3]),
    "constant": (lambda o: schedule.ConstantLR(o, 0.1, 2), [0.05, 0.05, 0.5, 0.5]),
    "linear": (lambda o: schedule.LinearLR(o, 0.2, 1.0, 4), [0.1, 0.2, 0.3, 0.4, 0.5, 0.5]),
    "cosine": (
        lambda o: schedule.CosineAnnealingLR(o, 3, 0.1),
        [cosine(i, 3, low=0.1) for i in range(9)],
    ),
    "restarts": (
        lambda o: schedule.CosineAnnealingWarmRestarts(o, 2, 2),
        [cosine(0, 2), cosine(1, 2), *(cosine(i, 4) for i in range(4)), cosine(0, 8)],
    ),
    "one cycle": (
        lambda o: schedule.OneCycleLR(
            o,
            1.0,
            total_steps=11,
            anneal_strategy="linear",
            pct_start=5 / 11,
            cycle_momentum=False,
        ),
        [0.04 + 0.24 * i for i in range(5)] + [1 - (1 - 4e-6) * i / 6 for i in range(1, 7)],
    ),
    "multiplicative": (
        lambda o: schedule.MultiplicativeLR(o, lambda i: 1 / (i + 1)),
        [0.5, 0.25, 0.25 / 3],
    ),
    "polynomial": (
        lambda o: schedule.PolynomialLR(o, 4, 2.0),
        [0.5 * (1 - i / 4) ** 2 for i in range(5)] + [0.0],
    ),
    "chain": (
        lambda o: schedule.ChainedScheduler(
            [schedule.ConstantLR(o, 0.1, 2), schedule.ExponentialLR(o, 0.5)]
        ),
        [0.05, 0.025, 0.125, 0.0625],
    ),
    "cyclic": (
        lambda o: schedule.CyclicLR(o, 0.1, 0.5, 2, 4, cycle_momentum=False),
        [0.1, 0.3, 0.5, 0.4, 0.3, 0.2, 0.1, 0.3],
    ),
    "cyclic, smaller": (
        lambda o: schedule.CyclicLR(o, 0.1, 0.5, 1, mode="triangular2", cycle_momentum=False),
        [0.1, 0.5, 0.1, 0.3, 0.1, 0.2],
    ),
    "sequence": (
        lambda o: schedule.SequentialLR(
            o, [schedule.ConstantLR(o, 0.1, 9), schedule.ExponentialLR(o, 0.5)], [2]
        ),
        [0.05, 0.05, 0.5, 0.25, 0.125],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_rates(case):
    make, expected = CASES[case]
    assert rates(make, len(expected) - 1) == pytest.approx(expected)


@pytest.mark.parametrize(
    "case", ["step", "milestones", "exponential", "linear", "cosine", "lambda"]
)
def test_any_step_can_be_asked_for(case):
    make, expected = CASES[case]
    optimizer = optim.SGD([nn.Parameter(weft.zeros(1))], lr=0.5)
    scheduler = make(optimizer)
    for step in (2, 0, 1):
        scheduler.step(step)
        assert optimizer.param_groups[0]["lr"] == pytest.approx(expected[step])


def test_plateau():
    measures = [5.0, 4.0, 4.0, 4.0, 4.0, 4.0, 3.0]
    found = rates(
        lambda o: schedule.ReduceLROnPlateau(o, patience=1, factor=0.1), 7, measures=measures
    )
    assert found == pytest.approx([0.5, 0.5, 0.5, 0.5, 0.05, 0.05, 0.005, 0.005])
    rising = [-value for value in measures]
    found = rates(
        lambda o: schedule.ReduceLROnPlateau(
            o, "max", patience=0, factor=0.1, threshold_mode="abs", cooldown=1, min_lr=0.05
        ),
        7,
        measures=rising,
    )
    assert found[-1] == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("mode", "threshold_mode", "best", "nearly", "enough"),
    [
        ("min", "rel", 10.0, 9.0, 8.999),
        ("min", "abs", 10.0, 9.9, 9.899),
        ("max", "rel", 10.0, 11.0, 11.001),
        ("max", "abs", 10.0, 10.1, 10.101),
        ("min", "rel", -10.0, -9.0, -9.001),
        ("max", "rel", -10.0, -11.0, -10.999),
    ],
)
def test_how_much_better_counts_on_a_plateau(mode, threshold_mode, best, nearly, enough):
    def make(optimizer):
        return schedule.ReduceLROnPlateau(
            optimizer, mode, patience=0, threshold=0.1, threshold_mode=threshold_mode
        )

    assert rates(make, 2, measures=[best, nearly])[-1] == pytest.approx(0.05)
    assert rates(make, 2, measures=[best, enough])[-1] == 0.5


def test_after_a_plateau_steps_are_waited_for():
    def make(optimizer):
        return schedule.ReduceLROnPlateau(optimizer, patience=1, factor=0.5, cooldown=2)

    # Two bad steps lower the rate; of the two that follow none counts.
    found = rates(make, 9, lr=8.0, measures=[1.0] * 9)
    assert found == [8, 8, 8, 4, 4, 4, 4, 2, 2, 2]


def test_what_a_plateau_does_not_change():
    def make(optimizer):
        return schedule.ReduceLROnPlateau(optimizer, patience=0, factor=0.5, eps=0.5, min_lr=0.3)

    # From 1.1 to 0.55 is more than eps, from 0.55 to 0.3 is less.
    assert rates(make, 3, lr=1.1, measures=[1.0] * 3) == [1.1, 1.1, 0.55, 0.55]
    # No more than eps is no change; ten bad steps are allowed if nothing else is said.
    assert rates(make, 2, lr=1.0, measures=[1.0] * 2)[-1] == 1.0
    found = rates(schedule.ReduceLROnPlateau, 13, measures=[1.0] * 13)
    assert found[11] == 0.5
    assert found[12] == pytest.approx(0.05)
    groups = [{"params": [nn.Parameter(weft.zeros(1))], "lr": lr} for lr in (1.0, 2.0)]
    optimizer = optim.SGD(groups)
    scheduler = schedule.ReduceLROnPlateau(optimizer, patience=0, min_lr=[0.5, 0.05])
    for measure in (3, 3, weft.tensor([4.0])):
        scheduler.step(measure)
    assert scheduler.get_last_lr() == pytest.approx([0.5, 0.05])
    assert (scheduler.last_epoch, scheduler.best) == (3, 3)


def test_one_cycle_by_epochs():
    def make(*total, **more):
        return lambda optimizer: schedule.OneCycleLR(optimizer, 1.0, *total, **more)

    plain = {"cycle_momentum": False}
    expected = rates(make(10, **plain), 10)
    assert rates(make(epochs=5, steps_per_epoch=2, **plain), 10) == expected
    assert expected[0] == pytest.approx(1 / 25)
    assert expected[2] == pytest.approx(1.0)
    assert expected[9] == pytest.approx(1 / 25e4)
    assert expected[4] == pytest.approx(cosine(2, 7, 1.0, 1 / 25e4))
    with pytest.raises(ValueError, match="epochs and steps_per_epoch"):
        rates(make(epochs=5), 1)
    found = rates(make(10, div_factor=10.0, final_div_factor=2.0, **plain), 10)
    assert [found[0], found[9]] == pytest.approx([0.1, 0.05])


@pytest.mark.parametrize("three_phase", [False, True])
def test_one_cycle_moves_the_momentum(three_phase):
    def momentums(make, name):
        optimizer = make([nn.Parameter(weft.zeros(1))])
        scheduler = schedule.OneCycleLR(
            optimizer, 1.0, 11, pct_start=3 / 11, three_phase=three_phase, anneal_strategy="linear"
        )
        found = []
        for _ in range(11):
            value = optimizer.param_groups[0][name]
            found.append(value if name == "momentum" else value[0])
            scheduler.step()
        return found

    falling, rising = [0.95, 0.9, 0.85], [0.85 + 0.1 * i / 8 for i in range(1, 9)]
    if three_phase:
        rising = [0.9, *[0.95] * 7]
    for make, name in ((lambda p: optim.SGD(p, momentum=0.5), "momentum"), (optim.Adam, "betas")):
        assert momentums(make, name) == pytest.approx(falling + rising)
    adam = optim.Adam([nn.Parameter(weft.zeros(1))], betas=(0.5, 0.75))
    schedule.OneCycleLR(adam, 1.0, 11, max_momentum=[0.8])
    assert adam.param_groups[0]["betas"] == (0.8, 0.75)
    with pytest.raises(ValueError, match="no momentum"):
        schedule.OneCycleLR(optim.Adagrad([nn.Parameter(weft.zeros(1))]), 1.0, 11)


def test_cyclic_with_a_height_of_ones_own():
    def make(scale_mode):
        return lambda o: schedule.CyclicLR(
            o, 0.0, 1.0, 1, 1, "nothing", 0.5, lambda i: 1 / i if i else 7.0, scale_mode,
            cycle_momentum=False,
        )  # fmt: skip

    assert rates(make("cycle"), 5) == pytest.approx([0, 1, 0, 1 / 2, 0, 1 / 3])
    assert rates(make("iterations"), 5) == pytest.approx([0, 1, 0, 1 / 3, 0, 1 / 5])
    found = rates(
        lambda o: schedule.CyclicLR(o, 0.0, 1.0, 1, 3, "exp_range", 0.5, cycle_momentum=False), 7
    )
    assert found == pytest.approx(
        [0, 1 / 2, 2 / 3 / 4, 1 / 3 / 8, 0, 1 / 32, 2 / 3 / 64, 1 / 3 / 128]
    )
    with pytest.raises(ValueError, match="mode must be one of"):
        rates(lambda o: schedule.CyclicLR(o, 0.0, 1.0, mode="square"), 1)


def test_groups_keep_their_own_rates():
    a, b = nn.Parameter(weft.zeros(1)), nn.Parameter(weft.zeros(1))
    optimizer = optim.SGD([{"params": [a], "lr": 1.0}, {"params": [b], "lr": 2.0}])
    scheduler = schedule.LambdaLR(optimizer, [lambda i: 0.5**i, lambda _: 1.0])
    scheduler.step()
    assert scheduler.get_last_lr() == [0.5, 2.0]
    with pytest.raises(ValueError, match="2 groups"):
        schedule.LambdaLR(optimizer, [lambda _: 1.0])


@pytest.mark.parametrize("case", CASES)
def test_state_goes_round(case):
    make, expected = CASES[case]
    optimizer = optim.SGD([nn.Parameter(weft.zeros(1))], lr=0.5)
    first = make(optimizer)
    first.step()
    state, rate = first.state_dict(), optimizer.param_groups[0]["lr"]
    other = optim.SGD([nn.Parameter(weft.zeros(1))], lr=0.5)
    second = make(other)
    second.load_state_dict(state)
    other.param_groups[0]["lr"] = rate
    second.step()
    assert other.param_groups[0]["lr"] == pytest.approx(expected[2])


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda o: schedule.ReduceLROnPlateau(o, factor=1.0), ValueError, "factor"),
        (lambda o: schedule.ReduceLROnPlateau(o, "low"), ValueError, "low"),
        (lambda o: schedule.OneCycleLR(o, 1.0), ValueError, "total_steps"),
        (lambda o: schedule.OneCycleLR(o, 1.0, 5, anneal_strategy="x"), ValueError, "x"),
        (lambda o: schedule.CosineAnnealingWarmRestarts(o, 0), ValueError, "T_0"),
        (lambda o: schedule.SequentialLR(o, [], [3]), ValueError, "milestone"),
        (lambda o: schedule.StepLR(o, 2, last_epoch=3), KeyError, "initial_lr"),
        (lambda _: schedule.StepLR(3, 2), TypeError, "Optimizer"),
        (schedule.LRScheduler, NotImplementedError, "get_lr"),
    ],
)
def test_mistakes(make, error, text):
    with pytest.raises(error, match=text):
        make(optim.SGD([nn.Parameter(weft.zeros(1))]))


def test_one_cycle_takes_as_many_steps_as_it_was_told():
    scheduler = schedule.OneCycleLR(optim.SGD([nn.Parameter(weft.zeros(1))]), 1.0, total_steps=3)
    for _ in range(3):
        scheduler.step()
    with pytest.raises(ValueError, match="step 4 is beyond the 3"):
        scheduler.step()


def test_cyclic_momentum():
    optimizer = optim.SGD([nn.Parameter(weft.zeros(1))], lr=0.5, momentum=0.9)
    scheduler = schedule.CyclicLR(optimizer, 0.1, 0.5, 2)
    found = [optimizer.param_groups[0]["momentum"]]
    for _ in range(4):
        scheduler.step()
        found.append(optimizer.param_groups[0]["momentum"])
    assert found == pytest.approx([0.9, 0.85, 0.8, 0.85, 0.9])
    with pytest.raises(ValueError, match="no momentum"):
        schedule.CyclicLR(optim.Adagrad([nn.Parameter(weft.zeros(1))]), 0.1, 0.5)


def test_one_cycle_takes_as_many_steps_as_there_are() -> None:
    optimizer = weft.optim.SGD([weft.nn.Parameter(weft.zeros(1))], lr=0.1, momentum=0.9)
    scheduler = weft.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=10)
    for _ in range(10):
        scheduler.step()
    with pytest.raises(ValueError, match="step 11 is beyond the 10"):
        scheduler.step()


def _one_cycle(optimizer, **settings):
    return schedule.OneCycleLR(
        optimizer, 1.0, total_steps=11, anneal_strategy="linear", pct_start=5 / 11, **settings
    )


# Three steps, and then: resumed at the third, two steps, and asked for the first.
RESUMED = {
    "step": (lambda o, **k: schedule.StepLR(o, 4, 0.1, **k), [0.05, 0.05, 0.05, 0.5]),
    "milestones": (
        lambda o, **k: schedule.MultiStepLR(o, [1, 4], 0.1, **k),
        [0.005, 0.005, 0.005, 0.05],
    ),
    "exponential": (
        lambda o, **k: schedule.ExponentialLR(o, 0.5, **k),
        [0.0625, 0.03125, 0.015625, 0.25],
    ),
    "lambda": (
        lambda o, **k: schedule.LambdaLR(o, lambda i: 1 / (i + 1), **k),
        [0.1, 0.5 / 6, 0.5 / 7, 0.25],
    ),
    "constant": (lambda o, **k: schedule.ConstantLR(o, 0.1, 4, **k), [0.5, 0.5, 0.5, 0.05]),
    "linear": (
        lambda o, **k: schedule.LinearLR(o, 0.2, 1.0, 8, **k),
        [0.25, 0.7 / 2.4, 0.8 / 2.4, 0.15],
    ),
    "cosine": (
        lambda o, **k: schedule.CosineAnnealingLR(o, 8, 0.1, **k),
        [0.37653668647301797, 0.2707106781186548, 0.18099572022108878, 0.4847759065022573],
    ),
    "restarts": (
        lambda o, **k: schedule.CosineAnnealingWarmRestarts(o, 8, **k),
        [cosine(i, 8) for i in (4, 5, 6, 1)],
    ),
    "one cycle": (_one_cycle, [1.0, 0.833334, 0.666668, 0.28]),
    "multiplicative": (
        lambda o, **k: schedule.MultiplicativeLR(o, lambda i: 1 / (i + 1), **k),
        [0.5 / 24, 0.5 / 24 / 6, 0.5 / 24 / 42, 0.5 / 24 / 84],
    ),
    "polynomial": (
        lambda o, **k: schedule.PolynomialLR(o, 8, 2.0, **k),
        [0.1953125, 0.10986328125, 0.048828125, 0.3828125],
    ),
    "cyclic": (lambda o, **k: schedule.CyclicLR(o, 0.1, 0.5, 2, 4, **k), [0.3, 0.2, 0.1, 0.3]),
}


@pytest.mark.parametrize("case", RESUMED)
def test_making_a_scheduler_at_a_step_scales_nothing(case):
    make, expected = RESUMED[case]
    optimizer = optim.SGD([nn.Parameter(weft.zeros(1))], lr=0.5, momentum=0.9)
    scheduler = make(optimizer)
    for _ in range(3):
        scheduler.step()
    scheduler = make(optimizer, last_epoch=3)
    assert scheduler.last_epoch == 4
    found = [optimizer.param_groups[0]["lr"]]
    for step in (None, None, 1):
        scheduler.step(step)
        found.append(optimizer.param_groups[0]["lr"])
    assert found == pytest.approx(expected)


def test_one_cycle_resumes_with_the_rates_it_began_with():
    optimizer = optim.SGD([nn.Parameter(weft.zeros(1))], lr=0.5, momentum=0.9)
    _one_cycle(optimizer)
    other = schedule.OneCycleLR(
        optimizer, 7.0, total_steps=11, anneal_strategy="linear", pct_start=5 / 11, last_epoch=3
    )
    assert other.get_last_lr() == pytest.approx([1.0])


def test_cyclic_leaves_the_first_rate_to_other_schedulers():
    optimizer = optim.SGD([nn.Parameter(weft.zeros(1))], lr=0.5, momentum=0.9)
    schedule.ExponentialLR(optimizer, 0.5)
    cyclic = schedule.CyclicLR(optimizer, 0.1, 0.9, 2)
    assert optimizer.param_groups[0]["initial_lr"] == 0.5
    cyclic.step()
    assert cyclic.get_last_lr() == pytest.approx([0.5])
    cyclic.step()
    assert cyclic.get_last_lr() == pytest.approx([0.9])


def test_sequences_of_chains_begin_at_their_first_milestone():
    def chain(optimizer):
        parts = [schedule.ExponentialLR(optimizer, 0.5), schedule.ConstantLR(optimizer, 0.1, 2)]
        return schedule.SequentialLR(
            optimizer, [schedule.ChainedScheduler(parts), schedule.StepLR(optimizer, 1, 0.5)], [2]
        )

    assert rates(chain, 3) == pytest.approx([0.025, 0.0125, 0.5, 0.25])

    def at_once(optimizer):
        parts = [schedule.ConstantLR(optimizer, 0.1, 9), schedule.ExponentialLR(optimizer, 0.5)]
        return schedule.SequentialLR(optimizer, parts, [0])

    assert rates(at_once, 2) == pytest.approx([0.5, 0.25, 0.125])


def test_warm_restarts_between_steps() -> None:
    def rate(since: float, length: int) -> float:
        return 0.05 * (1 + math.cos(math.pi * since / length))

    optimizer = optim.SGD([nn.Parameter(weft.zeros(1))], lr=0.1)
    scheduler = schedule.CosineAnnealingWarmRestarts(optimizer, T_0=5, T_mult=2)
    for epoch, since, length in (
        (0.5, 0.5, 5),
        (None, 1.5, 5),
        (4.75, 4.75, 5),
        (None, 0.75, 10),
        (5, 0, 10),
        (14.5, 9.5, 10),
        (15.25, 0.25, 20),
        (2, 2, 5),
        (None, 3, 5),
    ):
        scheduler.step(epoch)
        assert scheduler.get_last_lr() == pytest.approx([rate(since, length)])
        assert (scheduler.T_cur, scheduler.T_i) == (since, length)
    scheduler.step(7.5)
    assert scheduler.last_epoch == 7
    resumed = schedule.CosineAnnealingWarmRestarts(optimizer, T_0=5, T_mult=2)
    resumed.load_state_dict(scheduler.state_dict())
    resumed.step()
    assert resumed.get_last_lr() == pytest.approx([rate(3.5, 10)])
    with pytest.raises(ValueError, match="negative"):
        scheduler.step(-1)
