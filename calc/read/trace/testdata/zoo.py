"""Small networks of every kind, for the test of the trace: each is traced by vrametre_trace at batch 2 and 3, and measured
on its own, by the code below, at batch 2 and at one that was not traced."""
import json
import math
import os
import sys
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F
import torchvision
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode, _pop_mode_temporarily

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "..", "content", "python"))
import vrametre_trace  # noqa: E402

warnings.filterwarnings("ignore")
torch.set_num_threads(1)


def sequential():
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(True), nn.MaxPool2d(2), nn.Conv2d(16, 24, 3), nn.SiLU(True),
                         nn.AvgPool2d(2), nn.Conv2d(24, 8, 1), nn.Hardswish(), nn.Dropout2d(0.2), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(8, 32), nn.Tanh(), nn.Dropout(0.5), nn.Linear(32, 10))


def frozen():
    m = torchvision.models.resnet18(num_classes=10)
    for name, p in m.named_parameters():
        p.requires_grad_(not name.startswith(("conv1", "bn1", "layer1", "layer2")))
    return m


class UNet(nn.Module):
    def __init__(self, widths=(8, 16, 32)):
        super().__init__()
        self.down, self.up, self.join = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        n = 3
        for w in widths:
            self.down.append(self.block(n, w))
            n = w
        for w in reversed(widths[:-1]):
            self.up.append(nn.ConvTranspose2d(n, w, 2, stride=2))
            self.join.append(self.block(2 * w, w))
            n = w
        self.head = nn.Conv2d(n, 4, 1)

    @staticmethod
    def block(a, b):
        return nn.Sequential(nn.Conv2d(a, b, 3, padding=1, bias=False), nn.GroupNorm(4, b), nn.ReLU(inplace=True))

    def forward(self, x):
        kept = []
        for i, d in enumerate(self.down):
            x = d(x if i == 0 else F.max_pool2d(x, 2))
            kept.append(x)
        kept.pop()
        for u, j in zip(self.up, self.join):
            x = j(torch.cat((kept.pop(), u(x)), 1))
        return self.head(x)


class Decoder(nn.Module):
    def __init__(self, vocabulary=300, length=24, width=32, heads=4, layers=2, p=0.1, tied=False):
        super().__init__()
        self.words, self.places, self.drop = nn.Embedding(vocabulary, width), nn.Embedding(length, width), nn.Dropout(p)
        self.blocks = nn.ModuleList(Block(width, heads, length, p) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        if tied:
            self.head.weight = self.words.weight

    def forward(self, x):
        h = self.drop(self.words(x) + self.places(torch.arange(x.shape[1], device=x.device)))
        for b in self.blocks:
            h = b(h)
        return self.head(self.norm(h))


class Block(nn.Module):
    def __init__(self, width, heads, length, p):
        super().__init__()
        self.heads = heads
        self.norm1, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm2, self.mlp = nn.LayerNorm(width), nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.drop = nn.Dropout(p)
        self.register_buffer("mask", torch.tril(torch.ones(length, length)).bool())

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.qkv(self.norm1(x)).split(c, 2))
        a = (q @ k.transpose(-2, -1) * (1 / math.sqrt(q.shape[-1]))).masked_fill(~self.mask[:t, :t], -math.inf)
        y = self.drop(a.softmax(-1)) @ v
        x = x + self.drop(self.out(y.transpose(1, 2).reshape(b, t, c)))
        return x + self.mlp(self.norm2(x))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(200, 32)
        self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, 0.1, batch_first=True), 2)
        self.head = nn.Linear(32, 4)

    def forward(self, x):
        return self.head(self.layers(self.words(x)).mean(1))


class Remembers(nn.Module):
    """Keeps a table it makes at its first call, a tensor it never registers, and its last features."""
    def __init__(self):
        super().__init__()
        self.a, self.b, self.table, self.scale = nn.Linear(12, 24), nn.Linear(24, 5), None, torch.rand(24)

    def forward(self, x):
        if self.table is None:
            self.table = torch.arange(24.0)
        self.last = torch.sigmoid(self.a(x)) * self.scale + self.table
        return self.b(self.last)


def pixels(o, y):
    return F.cross_entropy(o, y)


def words(o, y):
    return F.cross_entropy(o.view(-1, o.size(-1)), y.view(-1))


def images(side):
    return lambda b: torch.rand(b, 3, side, side)


def ids(length, below):
    return lambda b: torch.randint(below, (b, length))


def classes(below):
    return lambda b: torch.randint(below, (b,))


ZOO = {
    "sequential": (sequential, images(24), classes(10), F.cross_entropy),
    "double": (lambda: nn.Sequential(nn.Linear(20, 40), nn.Sigmoid(), nn.Linear(40, 3)).double(), lambda b: torch.rand(b, 20).double(), lambda b: torch.rand(b, 3).double(), F.mse_loss),
    "resnet18": (lambda: torchvision.models.resnet18(num_classes=10), images(64), classes(10), F.cross_entropy),
    "resnet50": (lambda: torchvision.models.resnet50(num_classes=10), images(32), classes(10), F.cross_entropy),
    "mobilenet": (lambda: torchvision.models.mobilenet_v3_small(num_classes=10), images(64), classes(10), F.cross_entropy),
    "frozen": (frozen, images(64), classes(10), F.cross_entropy),
    "unet": (UNet, images(32), lambda b: torch.randint(4, (b, 32, 32)), pixels),
    "gpt": (Decoder, ids(24, 300), ids(24, 300), words),
    "tied": (lambda: Decoder(tied=True, p=0.0), ids(16, 300), ids(16, 300), words),
    "encoder": (Encoder, ids(20, 200), classes(4), F.cross_entropy),
    "remembers": (Remembers, lambda b: torch.rand(b, 12), classes(5), F.cross_entropy),
}
UNTRACED = 5
# Modules that are frozen after the trace: a beginning, a middle, an end.
FROZEN = {
    "sequential": ["0", "1"],
    "resnet18": ["conv1", "bn1", "layer1", "layer2"],
    "resnet50": ["layer2", "layer3.0"],
    "mobilenet": ["features"],
    "unet": ["down"],
    "gpt": ["words", "places", "blocks.0"],
    "tied": ["blocks"],
    "encoder": ["words", "layers.layers.0", "layers.layers.1.self_attn"],
    "double": ["2"],
}


# ---------------------------------------------------------------- the measurement
def flat(nest):
    if isinstance(nest, torch.Tensor):
        return [nest]
    if isinstance(nest, dict):
        nest = list(nest.values())
    return [t for v in nest for t in flat(v)] if isinstance(nest, (list, tuple)) else []


def address(t):
    return t._storage()._cdata


def size(t):
    return t._storage().nbytes()


class Live(TorchDispatchMode):
    """Bytes of the storages alive after each operation."""
    def __init__(self, *known):
        super().__init__()
        self.refs, self.bytes, self.peak = {}, 0, 0
        self.see(known)

    def see(self, nest):
        for t in flat(nest):
            if address(t) not in self.refs:
                self.refs[address(t)] = StorageWeakRef(t._storage()), size(t)
                self.bytes += size(t)

    def now(self):
        for a in [a for a, (ref, _) in self.refs.items() if ref.expired()]:
            self.bytes -= self.refs.pop(a)[1]
        return self.bytes

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        self.see((args, kwargs or {}, out))
        self.peak = max(self.peak, self.now())
        return out

    def phase(self):
        peak, self.peak = self.peak, self.now()
        return peak


class Dropout:
    """nn.Dropout with the bool mask that CUDA keeps."""
    def __enter__(self):
        self.plain = F.dropout

        def dropout(x, p=0.5, training=True, inplace=False):
            return torch.native_dropout(x, p, True)[0] if training and p and not inplace else self.plain(x, p, training, inplace)
        F.dropout = dropout

    def __exit__(self, *_):
        F.dropout = self.plain


def measure(model, x, y, loss_fn):
    held = [*model.parameters(), *model.buffers(), *flat(list(vars(model).values())), x, y]     # so that no address is used again
    outside = {address(t) for t in held}
    kept, live = {}, Live()

    def pack(t):
        with _pop_mode_temporarily():
            d = t.detach()
        if t.dim() or address(t) in live.refs:       # not a Python number
            kept[address(t)] = size(t), d
        return d
    with Dropout(), torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t), live:
        loss = loss_fn(model(x), y)
    saved = sum(n for a, (n, _) in kept.items() if a not in outside)
    del loss
    kept.clear()
    live = Live(list(model.parameters()), list(model.buffers()), x, y)
    with Dropout(), live:
        live.phase()
        out = model(x)
        loss = loss_fn(out, y)
        forward = live.phase()
        loss.backward()
        backward = live.phase()
    for p in model.parameters():
        p.grad = None
    return dict(batch=len(x), saved=saved, forward=forward, backward=backward)


def onnx(folder):
    """The networks that torch.onnx can export in training mode."""
    for name, (make, x, y, loss) in ZOO.items():
        if name in ("sequential", "double", "remembers", "frozen", "resnet50"):
            continue
        torch.manual_seed(0)
        model = make().train()
        truth = [dict(measure(model, x(b), y(b), loss), parameters=sum(p.numel() for p in model.parameters())) for b in (2, UNTRACED)]
        torch.onnx.export(model, (x(2),), os.path.join(folder, name + ".onnx"), training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False, opset_version=13,
                          input_names=["input"], dynamic_axes={"input": {0: "batch"}})
        with open(os.path.join(folder, name + ".truth.json"), "w", encoding="utf-8") as f:
            json.dump(truth, f)


def main(folder):
    for name, (make, x, y, loss) in ZOO.items():
        torch.manual_seed(0)
        model = make()
        vrametre_trace.export(model, x(2), loss, os.path.join(folder, name + ".trace.json"), target=y(2))
        truth = [measure(model, x(b), y(b), loss) for b in (2, UNTRACED)]
        with open(os.path.join(folder, name + ".truth.json"), "w", encoding="utf-8") as f:
            json.dump(truth, f)
        if name in FROZEN:
            for path in FROZEN[name]:
                model.get_submodule(path).requires_grad_(False)
            truth = [measure(model, x(b), y(b), loss) for b in (2, UNTRACED)]
            with open(os.path.join(folder, name + ".frozen.json"), "w", encoding="utf-8") as f:
                json.dump(dict(paths=FROZEN[name], truth=truth), f)


if __name__ == "__main__":
    (onnx if "--onnx" in sys.argv else main)(sys.argv[1])
