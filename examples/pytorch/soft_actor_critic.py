"""Soft actor-critic on a point that should stay at the origin: squashed normals, twin critics."""

import argparse
import copy
import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Independent, Normal, TransformedDistribution
from torch.distributions.transforms import TanhTransform


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 4))

    def forward(self, state):
        mean, log_std = self.body(state).chunk(2, dim=-1)
        normal = Independent(Normal(mean, log_std.clamp(-5, 2).exp()), 1)
        return TransformedDistribution(normal, [TanhTransform(cache_size=1)])


def critic():
    return nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))


def value(net, state, action):
    return net(torch.cat([state, action], -1)).squeeze(-1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(1)
    random.seed(1)
    actor, critics = Actor(), nn.ModuleList([critic(), critic()])
    targets = copy.deepcopy(critics).requires_grad_(False)
    log_alpha = torch.zeros(1, requires_grad=True)
    optimizers = [
        torch.optim.Adam(critics.parameters(), lr=3e-3),
        torch.optim.Adam(actor.parameters(), lr=3e-3),
        torch.optim.Adam([log_alpha], lr=3e-3),
    ]
    memory = deque(maxlen=500)
    state, reward_sum = torch.randn(2), 0.0
    for step in range(40 if args.quick else 400):
        with torch.no_grad():
            action = actor(state).sample()
        following = 0.9 * state + 0.5 * action + 0.05 * torch.randn(2)
        reward = -following.pow(2).sum().item()
        memory.append((state, action, torch.tensor(reward), following))
        reward_sum += reward
        state = following if step % 10 != 9 else torch.randn(2)
        if len(memory) < 16:
            continue
        states, actions, rewards, followings = map(torch.stack, zip(*random.sample(memory, 16)))
        with torch.no_grad():
            policy = actor(followings)
            chosen = policy.rsample()
            least = torch.minimum(*(value(each, followings, chosen) for each in targets))
            wanted = rewards + 0.95 * (least - log_alpha.exp() * policy.log_prob(chosen))
        losses = [sum(F.mse_loss(value(each, states, actions), wanted) for each in critics)]
        optimizers[0].zero_grad()
        losses[0].backward()
        optimizers[0].step()
        policy = actor(states)
        chosen = policy.rsample()
        log_prob = policy.log_prob(chosen)
        critics.requires_grad_(False)
        best = torch.minimum(*(value(each, states, chosen) for each in critics))
        losses.append((log_alpha.exp().detach() * log_prob - best).mean())
        critics.requires_grad_(True)
        losses.append(-(log_alpha * (log_prob.detach() - 2)).mean())
        for loss, optimizer in zip(losses[1:], optimizers[1:]):
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            for old, new in zip(targets.parameters(), critics.parameters()):
                old.lerp_(new, 0.02)
        if step % 4 == 3:
            numbers = ", ".join(f"{loss.item():.4f}" for loss in losses)
            print(f"step {step + 1}: losses {numbers}; reward {reward_sum / (step + 1):.3f}")


if __name__ == "__main__":
    main()
