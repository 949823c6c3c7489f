import numpy as np
import torch

from tformer_book.world.stories import stories

rng = np.random.default_rng(0)
torch.set_num_threads(1)

# Tokens: every word is a number.
told, held_out = stories().split()
words, lessons = told.words, torch.tensor(told.tokens())

def tokens(text): return torch.tensor([*map(words.index, text.split())])

# Parameters: tables of random numbers.
N, T, d, layers = len(words), 19, 32, 2

def table(n, m, scale):
    return torch.tensor(rng.normal(0, scale, (n, m)), requires_grad=True)

E, P, U = table(N, d, 0.5), table(T, d, 0.5), table(d, N, d**-0.5)
shapes = [(d, d)] * 4 + [(d, 4 * d), (4 * d, d)]
blocks = [[table(n, m, n**-0.5) for n, m in shapes] for _ in range(layers)]
parameters = [E, P, U, *sum(blocks, [])]

# The machine: from words to the scores of every next word.
def norm(x): return x / (x.pow(2).mean(-1, keepdim=True) + 1e-6).sqrt()

def machine(x):
    weights, later = [], torch.ones(2 * x.shape[-1:]).triu(1) > 0
    h = E[x] + P[: x.shape[-1]]
    for Q, K, V, O, A, B in blocks:
        q, k, v = norm(h) @ Q, norm(h) @ K, norm(h) @ V
        scores = (q @ k.mT / d**0.5).masked_fill(later, -torch.inf)
        weights.append(torch.softmax(scores, -1))
        h = h + weights[-1] @ v @ O
        h = h + torch.relu(norm(h) @ A) @ B
    return norm(h) @ U, weights

# Every number is moved a little, so that the right words become likelier.
def train(steps, rate=0.008):
    adam = torch.optim.Adam(parameters, betas=(0.9, 0.99), fused=True)
    for t in range(steps):
        batch = lessons[rng.integers(len(lessons), size=48)]
        guess = machine(batch[:, :-1])[0].mT
        loss = torch.nn.functional.cross_entropy(guess, batch[:, 1:])
        adam.param_groups[0]["lr"] = rate * min((t + 1) / 20, 1 - t / steps)
        adam.zero_grad(), loss.backward(), adam.step()
        yield t + 1, T * loss.item()

# A guess is added to the text, and the text is read again.
def write(text, n, rng=rng):
    for _ in range(n):
        p = torch.softmax(machine(tokens(text))[0][-1], -1).detach()
        text += " " + rng.choice(words, p=p.numpy())
    return text

print([loss for step, loss in train(1000)][-1], write(".", 18))
