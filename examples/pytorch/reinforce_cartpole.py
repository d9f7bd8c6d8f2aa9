"""REINFORCE on a cart and pole that is written in NumPy."""

import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim


class CartPole:
    """A pole on a cart: it falls at 12 degrees, the track ends at 2.4 metres."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def reset(self):
        self.state = self.random.uniform(-0.05, 0.05, 4)
        return self.state.astype(np.float32)

    def step(self, action):
        _, v, angle, spin = self.state
        force = 10.0 if action == 1 else -10.0
        sine, cosine = np.sin(angle), np.cos(angle)
        push = (force + 0.05 * spin**2 * sine) / 1.1
        turning = (9.8 * sine - cosine * push) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
        moving = push - 0.05 * turning * cosine / 1.1
        self.state = self.state + 0.02 * np.array([v, moving, spin, turning])
        done = abs(self.state[0]) > 2.4 or abs(self.state[2]) > 12 * np.pi / 180
        return self.state.astype(np.float32), 1.0, bool(done)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 64)
        self.dropout = nn.Dropout(p=0.2)
        self.second = nn.Linear(64, 2)

    def forward(self, x):
        return F.softmax(self.second(F.relu(self.dropout(self.first(x)))), dim=1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--gamma", type=float, default=0.99)
    args = parser.parse_args()
    episodes = 12 if args.quick else 400
    torch.manual_seed(543)
    env = CartPole(543)
    policy = Policy()
    optimizer = optim.Adam(policy.parameters(), lr=1e-2)
    eps = np.finfo(np.float32).eps.item()
    running = 10.0
    for episode in range(1, episodes + 1):
        state, rewards, saved = env.reset(), [], []
        for _ in range(500):
            chances = policy(torch.from_numpy(state).unsqueeze(0))
            action = torch.multinomial(chances, 1)
            saved.append(chances.log().gather(1, action).squeeze(1))
            state, reward, done = env.step(action.item())
            rewards.append(reward)
            if done:
                break
        running = 0.05 * sum(rewards) + 0.95 * running
        R, returns = 0, []
        for r in rewards[::-1]:
            R = r + args.gamma * R
            returns.insert(0, R)
        returns = torch.tensor(returns)
        returns = (returns - returns.mean()) / (returns.std() + eps)
        loss = torch.cat([-log * R for log, R in zip(saved, returns)]).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if args.quick or episode % 20 == 0:
            print(
                f"episode {episode}  length {len(rewards)}  loss {loss.item():.4f}  {running:.3f}"
            )


if __name__ == "__main__":
    main()
