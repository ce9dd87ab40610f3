"""The ways to call vrametre_trace.export, and what it must leave as it was. Prints nothing when all is well."""
import contextlib
import io
import json
import os
import sys
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "..", "content", "python"))
import vrametre_trace  # noqa: E402

PATH = os.path.join(tempfile.mkdtemp(), "trace.json")


def export(*args, **kwargs):
    with contextlib.redirect_stdout(io.StringIO()):
        vrametre_trace.export(*args, path=PATH, **kwargs)
    with open(PATH, encoding="utf-8") as f:
        return json.load(f)


def numbers(v):
    if isinstance(v, dict):
        v = list(v.values())
    if isinstance(v, list):
        return [n for e in v for n in numbers(e)]
    return [v] if isinstance(v, (int, float)) else []


class Named(nn.Module):
    """Takes and gives names, as transformers do."""
    def __init__(self):
        super().__init__()
        self.a, self.norm, self.drop = nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Dropout(0.3)

    def forward(self, x, labels=None, scale=1.0):
        h = self.drop(self.norm(self.a(x))) * scale
        return {"logits": h, "loss": None if labels is None else F.cross_entropy(h, labels)}


def leaves_the_model_alone():
    m = Named().eval()
    m.a.weight.grad = kept = torch.ones_like(m.a.weight)
    before = {n: b.clone() for n, b in m.named_buffers()}
    x = torch.rand(3, 6)
    state = torch.random.get_rng_state()
    call, dropout, direct = nn.Module.__call__, F.dropout, torch.dropout
    trace = export(m, x, lambda out: out["logits"].sum())
    assert not m.training and m.a.weight.grad is kept and m.a.bias.grad is None
    assert all(torch.equal(b, before[n]) for n, b in m.named_buffers())
    assert torch.equal(state, torch.random.get_rng_state())
    assert nn.Module.__call__ is call and F.dropout is dropout and torch.dropout is direct and "dropout" not in vars(torch._VF)
    assert "native_dropout" in trace["ops"] and trace["batches"] == [3, 4]
    assert all(isinstance(n, int) for n in numbers(trace)), "a trace holds sizes only"
    try:
        export(m, torch.rand(3, 7), "none")
        raise AssertionError("an input that does not fit was taken")
    except RuntimeError:
        pass
    assert nn.Module.__call__ is call and torch.dropout is direct and not m.training


def inputs_and_losses():
    named = export(Named(), {"x": torch.rand(2, 6), "labels": torch.zeros(2, dtype=torch.int64)}, lambda out: out["loss"])
    assert [s for s, _ in named["inputs"]] == [[[0, 1], 6], [[0, 1]]]
    for loss in ("cross_entropy", "mse", "l1", "smooth_l1", "bce_with_logits", "none", nn.CrossEntropyLoss(), nn.MSELoss(), F.l1_loss, lambda o: o.mean(), lambda o, y: ((o - y) ** 2).mean()):
        assert export(nn.Linear(6, 4), torch.rand(2, 6), loss)["train"]["loss"], loss
    export(nn.Linear(6, 4), [torch.rand(2, 6)], "cross_entropy", target=torch.zeros(2, dtype=torch.int64))
    rows = export(nn.GRU(5, 7), torch.rand(9, 2, 5), lambda out: out[0].sum(), batch_dim=1)
    assert rows["inputs"][0][0] == [9, [0, 1], 5]


def what_was_kept_is_known():
    class Mean(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Conv2d(3, 4, 1), nn.Linear(4, 2)

        def forward(self, x):
            return self.b(self.a(x).mean((2, 3)))
    trace = export(Mean(), torch.rand(2, 3, 5, 5), "cross_entropy")
    if vrametre_trace.TORCH < (2, 2):
        assert len(trace["mean_saved"]) == 1
    tied = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    tied[1].weight = tied[0].weight
    trace = export(tied, torch.rand(2, 4), "none")
    assert len(trace["parameters"]) == 3 and sum(row[2] for row in trace["train"]["resident"]) == 3


for check in (leaves_the_model_alone, inputs_and_losses, what_was_kept_is_known):
    check()
