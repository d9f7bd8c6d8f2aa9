"""An actor and a critic that share a trunk learn to hold a ball on a bumpy road."""

import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical


class Road:
    """A ball on a bumpy road that has to stay near the middle; three pushes are possible."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def reset(self):
        self.place, self.speed, self.time = self.random.uniform(-0.5, 0.5), 0.0, 0
        return self.observe()

    def observe(self):
        return np.array([self.place, self.speed, np.cos(3 * self.place)], dtype=np.float32)

    def step(self, action):
        self.speed += 0.1 * (action - 1) + 0.05 * np.sin(3 * self.place)
        self.speed *= 0.98
        self.place += 0.1 * self.speed
        self.time += 1
        reward = 1.0 - self.place**2
        return self.observe(), reward, abs(self.place) > 1.0 or self.time == 100


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(3, 64)
        self.actor = nn.Linear(64, 3)
        self.critic = nn.Linear(64, 1)

    def forward(self, x):
        x = torch.tanh(self.trunk(x))
        return F.softmax(self.actor(x), dim=-1), self.critic(x)


def play(model, road):
    """Play one episode; return the log probabilities, values, rewards and entropies."""
    logs, values, rewards, entropies = [], [], [], []
    state, done = road.reset(), False
    while not done:
        chances, value = model(torch.from_numpy(state).float())
        choice = Categorical(chances)
        action = choice.sample()
        state, reward, done = road.step(action.item())
        logs.append(choice.log_prob(action))
        values.append(value)
        rewards.append(reward)
        entropies.append(choice.entropy())
    return logs, values, rewards, entropies


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(7)
    road = Road(7)
    model = ActorCritic()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    eps = np.finfo(np.float32).eps.item()
    running = 0.0
    for episode in range(1, 13 if args.quick else 301):
        logs, values, rewards, entropies = play(model, road)
        total, returns = 0.0, []
        for reward in reversed(rewards):
            total = reward + 0.97 * total
            returns.insert(0, total)
        returns = torch.tensor(returns, dtype=torch.float32)
        returns = (returns - returns.mean()) / (returns.std() + eps)
        actor, critic = [], []
        for log, value, target in zip(logs, values, returns):
            advantage = target - value.item()
            actor.append(-log * advantage)
            critic.append(F.smooth_l1_loss(value, target.reshape(1)))
        policy_loss, value_loss = torch.stack(actor).sum(), torch.stack(critic).sum()
        loss = policy_loss + value_loss - 0.01 * torch.stack(entropies).sum()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        running += 0.05 * (sum(rewards) - running)
        if args.quick or episode % 20 == 0:
            print(
                f"episode {episode}  steps {len(rewards)}  policy {policy_loss.item():.4f}  "
                f"value {value_loss.item():.4f}  reward {running:.3f}"
            )


if __name__ == "__main__":
    main()
