import numpy as np
import torch

# Stories: who there is, what can be too much, what helps, who did what.
def lists(rows):
    return {k: v.split(", ") for k, v in (row.split(": ") for row in rows)}

nouns = lists(["animal: animal, horse, dog, cow, cat, lion, mouse, "
               "elephant, penguin, donkey, goose, bear",
               "wall: wall, fence, gate, hedge, tower, ladder",
               "road: street, river, bridge, road, lake, field",
               "food: cake, soup, pie, stew, bread, apple",
               "load: piano, sofa, bed, wardrobe, table, harp",
               "hole: door, window, hall, tunnel, cellar, lift"])
cures = lists(["animal: tired woke, lazy tickled, shy praised, sad kissed",
               "wall: high lowered, rusty painted",
               "road: wide narrowed, icy salted",
               "food: hot cooled, dry watered",
               "load: fat squeezed, heavy lightened",
               "hole: narrow widened, low raised"])
verbs = lists(["climb: animal, wall", "cross: animal, road",
               "eat: animal, food", "enter: load, hole",
               "stop: wall, animal", "tempt: road, animal",
               "please: food, animal", "admit: hole, load"])

def stories():
    for verb, (one, other) in verbs.items():
        for a, b in [(a, b) for a in nouns[one] for b in nouns[other]]:
            for kind, noun in ((one, a), (other, b)):
                for why, cure in map(str.split, cures[kind]):
                    yield (min(a, b), max(a, b)), (
                        f". the {a} did not {verb} the {b} because it was "
                        f"too {why} . so they {cure} the {noun} .").split()

# One pair of nouns in six is held out, and animal with street.
pairs = sorted({pair for pair, text in stories()})
order = np.random.default_rng(0).permutation(len(pairs))
asked = {pairs[i] for i in order[:len(pairs) // 6]} | {("animal", "street")}
told = [text for pair, text in stories() if pair not in asked]
held_out = [text for pair, text in stories() if pair in asked]

# Tokens: every word is a number.
words = sorted({word for text in told + held_out for word in text})
lessons = torch.tensor([[*map(words.index, text)] for text in told])
