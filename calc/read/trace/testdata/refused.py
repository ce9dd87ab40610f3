"""Models that the exporter must refuse."""
import torch
import torch.nn as nn


def linear():
    return nn.Linear(8, 4)


def frozen():
    return nn.Linear(8, 4).requires_grad_(False)


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 4)

    def forward(self, x):
        return self.a(x).relu() if len(x) > 2 else self.a(x)


class Square(nn.Module):
    """Compares every sample with every other, as contrastive losses do."""
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 4)

    def forward(self, x):
        y = self.a(x)
        return (y @ y.t()).exp()


branches, square = Branches, Square
