#!/usr/bin/env python3
"""vrametre_trace: write down what one training step of your PyTorch network does to memory.

In a notebook, beside your model:

    import vrametre_trace
    vrametre_trace.export(model, inputs, loss_fn, "trace.json")

`inputs` is a tensor, or a tuple or dict of them, with at least two samples. `loss_fn` is a loss of
torch.nn or torch.nn.functional, its name ("cross_entropy"), a function of the output, or a
function of (output, target). Without `target`, class ids or an output-shaped tensor stand in.

From the shell, where make_model is a function without arguments, or a model:

    python3 vrametre_trace.py mymodule:make_model --input 3,128,128 --batch 2
    python3 vrametre_trace.py mymodule:make_gpt --input 256:int64 --loss cross_entropy

The step runs on the device of your model; a CPU is enough, and with a recent PyTorch so is the meta
device. It needs torch 1.13 or later and nothing else. It runs at two batch sizes, so that every
size can be given for any batch. The file holds names, shapes and sizes: no weights, no data.
Your model's buffers, gradients and mode are put back as they were.

The file (JSON, format "vrametre-trace", version 1)
    torch, device, dtype, autocast, attention   how it was traced; dtype is the parameters', attention the
                kernel that stands for scaled_dot_product_attention, as a GPU runs it
    batches     the batch sizes that were run
    inputs      [shape, dtype], the inputs; in any shape, [a, b] stands for a + b * batch
    ops         names of ATen operations
    modules     [path, class, is a leaf, elements of its own parameters]; the loss is "<loss>"
    sizes       bytes, as a0, b0, a1, b1, ...: size i is a[i] + b[i] * batch
    dtypes      element types
    parameters  [name, shape, dtype, requires_grad, slot], in the order of model.parameters()
    mean_saved  slots of train that only mean(dim) saves for backward, as PyTorch did before 2.2
    train       the step; infer the forward in eval mode without gradients, null if it could not run:
        resident    [size, dtype, is a parameter], storages that exist before: parameters and buffers in
                    the order Module.to() moves them, then other tensors that the model keeps
        batch       [size, dtype, is an input], storages of inputs and target
        calls       [module, output shape], one per call of a module, in order
        events      what happens, see below
        outputs     slots that the caller's `out` keeps; loss the slot of the loss
A slot is a storage: resident ones come first, then the batch's, then one per event 1 or 5.
Events are integers, one after the other:
    0 op call n slots...   an operation that allocates or multiplies matrices, and the n slots it reads
    1 size dtype           a new storage
    2 slot                 its last reference is gone; seen before the next operation
    3 slot call            autograd keeps it for backward, for the first time
    4 parameter slot       the storage becomes the parameter's gradient
    5 parameter size dtype a new storage, the parameter's gradient copied into its own layout
    6                      model(x) has returned, 7 the loss is computed, 8 backward begins
"""
import argparse
import contextlib
import gc
import importlib
import inspect
import json
import os
import sys

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode

VERSION = 1
STEP, ALLOC, FREE, SAVE, GRAD, COPY, OUTPUT, LOSS, BACKWARD = range(9)
MATRIX_PRODUCTS = {"addmm", "mm", "bmm", "baddbmm", "addbmm", "addmv", "mv", "addmm_", "baddbmm_", "linear", "matmul"}
TORCH = tuple(int(n) for n in torch.__version__.split("+")[0].split(".")[:2])


class TraceError(Exception):
    """Why the model cannot be traced, and what to do about it."""


def tensors(nest):
    """Every tensor in a nest of tuples, lists and dicts."""
    if isinstance(nest, torch.Tensor):
        yield nest
    elif isinstance(nest, dict):
        for v in nest.values():
            yield from tensors(v)
    elif isinstance(nest, (list, tuple)):
        for v in nest:
            yield from tensors(v)


def storage(t):
    return t.untyped_storage() if hasattr(t, "untyped_storage") else t._storage()


def dense(t):
    """Whether the elements of t fill a block of memory exactly once."""
    n = 1
    for stride, size in sorted(zip(t.stride(), t.shape)):
        if size != 1:
            if stride != n:
                return False
            n *= size
    return True


def name_of(dtype):
    return str(dtype).replace("torch.", "")


class Recorder(TorchDispatchMode):
    """Sees every ATen operation of one step, and from weak references when each storage dies."""

    def __init__(self, model, batch):
        super().__init__()
        self.known = {}   # storage address -> slot, of what outlives the step
        self.alive = {}   # storage address -> (weak reference, slot), of what the step makes
        self.size, self.dtype, self.made_by = [], [], []  # of each slot
        self.events, self.calls = [], []
        self.quiet = False
        self.paths = {id(m): n for n, m in model.named_modules()}
        self.stack = []
        self.device = None
        for m in in_moving_order(model):
            for t in list(m._parameters.values()) + list(m._buffers.values()):
                if t is not None:
                    self.device = self.device or t.device
                    self.keep(t)
        self.resident = len(self.size)
        for t in tensors(batch):
            self.device = self.device or t.device
            self.keep(t)
        self.foreign = []     # slots first seen as an argument
        self.waiting = []     # (index, parameter) without a gradient yet
        self.backward_call = None
        self.in_engine = False
        self.sum = None       # the engine's last out-of-place sum of two gradients
        self.detached = set() # slots that AccumulateGrad may have taken as they are
        self.as_one = None    # name of the kernel that replaces the operations running
        self.attention = None
        self.numbers = {}     # stand-ins for Python numbers that autograd saves: no memory of the device
        self.packed = []      # slots saved since the last operation
        self.saves, self.mean_saves = {}, {}   # of each slot: how often it was saved, and by mean(dim)

    # slots
    def keep(self, t):
        """t exists before the step and after it."""
        s = storage(t)
        if t.layout == torch.strided and s._cdata not in self.known:
            self.known[s._cdata] = self.slot_of(s.nbytes(), t.dtype, None)

    def slot_of(self, size, dtype, made_by):
        self.size.append(size)
        self.dtype.append(name_of(dtype))
        self.made_by.append(made_by)
        return len(self.size) - 1

    def find(self, t):
        """The slot of a tensor that already exists; None for a number wrapped as a tensor."""
        if t.layout != torch.strided:
            return None
        s = storage(t)
        if s._cdata in self.known:
            return self.known[s._cdata]
        if s._cdata in self.alive:
            return self.alive[s._cdata][1]
        if t.dim() == 0 or t.device.type != self.device.type:
            return None
        slot = self.slot_of(s.nbytes(), t.dtype, "")   # made out of the mode's sight, or kept by the model without registering it
        self.alive[s._cdata] = (StorageWeakRef(s), slot)
        self.foreign.append(slot)
        self.events.append((ALLOC, slot))
        return slot

    def finish(self):
        """What was first seen as an argument and is still there was there before."""
        self.sweep()
        alive = {slot for _, slot in self.alive.values()}
        self.constants = [slot for slot in self.foreign if slot in alive]
        before = set(self.constants)
        self.events = [e for e in self.events if e[0] != ALLOC or e[1] not in before]

    def sweep(self):
        """Writes down the gradients that have arrived and the storages that have died since."""
        for k in range(len(self.waiting) - 1, -1, -1):
            index, p = self.waiting[k]
            if p.grad is not None:
                del self.waiting[k]
                self.gradient(index, p.grad)
        dead = sorted((slot, address) for address, (ref, slot) in self.alive.items() if ref.expired())
        for slot, address in dead:
            del self.alive[address]
        dead = [slot for slot, _ in dead]
        if self.sum is not None:
            dead = self.fold(dead)
        self.events.extend((FREE, slot) for slot in dead)

    def gradient(self, index, grad):
        slot = self.find(grad)
        if slot is None:
            return
        if self.made_by[slot] in ("new_empty_strided", "clone") and slot not in self.detached:
            # AccumulateGrad copied it: the storage is there only if the parameter had no gradient yet
            at = self.events.index((ALLOC, slot))
            self.events[at] = (COPY, index, slot)
        else:
            self.events.append((GRAD, index, slot))

    def fold(self, dead):
        """Since 2.0 the engine adds a gradient into the other when nothing else holds it, but not while a mode like this one
        is active (torch/csrc/autograd/input_buffer.cpp): an operand that dies with the sum is where the sum goes."""
        operands, result, at = self.sum
        self.sum = None
        for slot in operands:
            if slot in dead:
                dead.remove(slot)
                del self.events[at:at + 2]
                address = next(a for a, (_, s) in self.alive.items() if s == result)
                self.alive[address] = (self.alive[address][0], slot)
                break
        return dead

    # operations
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if self.quiet:
            return func(*args, **kwargs)
        self.sweep()
        reads = []
        for t in tensors((args, kwargs)):
            slot = self.find(t)
            if slot is not None and slot not in reads:
                reads.append(slot)
        packed, self.packed = self.packed, []
        out = func(*args, **kwargs)
        name = str(func).split(".")[1] if str(func).startswith("aten.") else str(func)
        if name == "detach":
            self.detached.update(reads)
        elif name == "mean":       # what an operation keeps of its operands is saved just before it runs
            for slot in set(packed).intersection(reads):
                self.mean_saves[slot] = self.mean_saves.get(slot, 0) + 1
        new = []
        ignored = {storage(t)._cdata for t in self.numbers.values()}
        for t in tensors(out):
            if t.layout != torch.strided or t.device.type != self.device.type:
                continue
            s = storage(t)
            held = self.alive.get(s._cdata)
            if s._cdata in self.known or s._cdata in ignored or (held and self.size[held[1]] == s.nbytes()):
                continue
            if held:      # resized
                self.events.append((FREE, held[1]))
            slot = self.slot_of(s.nbytes(), t.dtype, name)
            self.alive[s._cdata] = (StorageWeakRef(s), slot)
            new.append(slot)
        if new or name in MATRIX_PRODUCTS:
            if self.in_engine and TORCH >= (2, 0) and name == "add" and len(reads) == 2 and len(new) == 1:
                self.sum = [s for s, t in zip(reads, args) if dense(t)], new[0], len(self.events)
            self.events.append((STEP, self.as_one or name, self.call(), tuple(reads)))
            self.events.extend((ALLOC, slot) for slot in new)
        return out

    def call(self):
        if self.stack:
            return self.stack[-1]
        return len(self.calls) - 1 if self.backward_call is None else self.backward_call

    # modules
    @contextlib.contextmanager
    def modules(self):
        """Every call of a module passes through here; a wrapper holds what _call_impl holds, no more."""
        original = torch.nn.Module.__call__

        def call(module, *args, **kwargs):
            at = self.enter(module)
            try:
                out = original(module, *args, **kwargs)
            finally:
                self.stack.pop()
            self.calls[at][1] = next((tuple(t.shape) for t in tensors(out)), None)
            return out

        torch.nn.Module.__call__ = call
        try:
            yield
        finally:
            torch.nn.Module.__call__ = original

    def enter(self, module):
        path = self.paths.get(id(module))
        if path is None:
            path = "<loss>" if not self.stack else self.calls[self.stack[-1]][0][0]
        own = sum(p.numel() for p in module._parameters.values() if p is not None)
        leaf = not any(True for _ in module.children())
        self.calls.append([(path, type(module).__name__, leaf, own), None])
        self.stack.append(len(self.calls) - 1)
        return self.stack[-1]

    # autograd
    def pack(self, t):
        slot = self.find(t)
        at = self.call()
        if slot is None and t.dim() == 0:
            return self.number(t.dtype), at     # a Python number, which cannot pass through the mode as a tensor
        if slot is not None:
            if slot not in self.saves:
                self.events.append((SAVE, slot, at))
            self.saves[slot] = self.saves.get(slot, 0) + 1
            self.packed.append(slot)
        self.quiet = True
        d = t.detach()     # not t itself: an operation's own output would make a reference cycle
        self.quiet = False
        return d, at

    def number(self, dtype):
        if dtype not in self.numbers:
            self.quiet = True
            self.numbers[dtype] = torch.ones((), dtype=dtype)
            self.quiet = False
        return self.numbers[dtype]

    def unpack(self, packed):
        self.backward_call = packed[1]
        return packed[0]

    def watch(self, loss):
        """Learns when the engine is between two nodes: what runs there is its own."""
        def begin(*_):
            self.in_engine = False
        def end(*_):
            self.in_engine = True
        seen, todo = set(), [loss.grad_fn]
        while todo:
            node = todo.pop()
            if node is None or node in seen:
                continue
            seen.add(node)
            todo.extend(n for n, _ in node.next_functions)
            if "AccumulateGrad" not in node.name():
                node.register_prehook(begin)
                node.register_hook(end)

    def only_mean(self):
        """Slots that nothing but mean(dim) saves."""
        return sorted(slot for slot, n in self.mean_saves.items() if self.saves[slot] == n)


def in_moving_order(module):
    """Modules as Module.to() visits them: children first."""
    for child in module.children():
        yield from in_moving_order(child)
    yield module


# -------------------------------------------------------------- what a GPU does otherwise than the CPU
def replace(function, by):
    """Puts `by` wherever a loaded module has bound `function`; returns where."""
    places = []
    for module in list(sys.modules.values()):
        for name, value in list(getattr(module, "__dict__", {}).items()):
            if value is function:
                places.append((module, name))
                setattr(module, name, by)
    return places


def padded(n, multiple):
    return (n + multiple - 1) // multiple * multiple


def kernel_of(q, k, v, mask):
    """The kernel that CUDA picks for scaled_dot_product_attention (aten/src/ATen/native/transformers/cuda/sdp_utils.cpp);
    None for the plain one, which is traced as it is."""
    width, half = q.shape[-1], q.element_size() == 2
    if q.dim() != 4 or q.shape[:-2] != k.shape[:-2] or q.shape[:-2] != v.shape[:-2]:
        return None
    if half and mask is None and width <= 256 and width % 8 == 0:
        return "flash"
    return "efficient" if width * q.element_size() % 16 == 0 and q.dtype != torch.float64 else None


def by_token(t, shape):
    """An empty [batch, heads, tokens, width] laid out as [batch, tokens, heads, width]."""
    return t.new_empty(shape[0], shape[2], shape[1], shape[3]).transpose(1, 2)


class Attention(torch.autograd.Function):
    """What the fused kernels allocate and keep: their operands, the result, and a float32 per row and head; the backward's
    work space (flash_attn/flash_api.cpp, attention.cu and attention_backward.cu in ATen/native/transformers/cuda)."""

    @staticmethod
    def forward(ctx, recorder, kernel, q, k, v, mask, keep):
        recorder.as_one = "scaled_dot_product_attention"
        batch, heads, rows, _ = q.shape
        ctx.recorder, ctx.kernel = recorder, kernel
        out = torch.empty_like(q) if kernel == "flash" else by_token(q, (batch, heads, rows, v.shape[-1]))
        if keep:
            rows = rows if kernel == "flash" else padded(rows, 32)
            ctx.save_for_backward(q, k, v, out, q.new_empty(batch, heads, rows, dtype=torch.float32), *([] if mask is None else [mask]))
        recorder.as_one = None
        return out

    @staticmethod
    def backward(ctx, grad):
        q, k, v, out = ctx.saved_tensors[:4]
        batch, heads, rows, width = q.shape
        new = lambda *shape: q.new_empty(shape, dtype=torch.float32)
        ctx.recorder.as_one = "scaled_dot_product_attention"
        if ctx.kernel == "flash":
            gradients = [torch.empty_like(t) for t in (q, k, v)]
            if not grad.transpose(1, 2).is_contiguous():
                copy = torch.empty_like(grad, memory_format=torch.contiguous_format)
            sums = new(batch, heads, padded(rows, 128))
            queries = new(batch, padded(rows, 128), heads, 256 if width > 192 else padded(width, 32))
        else:
            gradients = [by_token(t, t.shape) for t in (q, k, v)]
            if q.element_size() > 2:
                product = new(*out.shape)
                sums = new(batch, rows, heads)
                del product
            delta = new(batch, heads, rows)
            sums = None
            work = new(batch * heads * (padded(rows, 64) // 64) * (padded(width, 64) // 64) * (64 * 64 + 4))
        ctx.recorder.as_one = None
        return (None, None, *(g if need else None for g, need in zip(gradients, ctx.needs_input_grad[2:5])), None, None)


@contextlib.contextmanager
def as_on_cuda(recorder):
    """Dropout keeps a bool mask (native_dropout), and attention is one kernel, instead of the CPU's decompositions."""
    plain, named = torch._VF.dropout, torch.dropout
    attention = getattr(torch.nn.functional, "scaled_dot_product_attention", None)

    def dropout(input, p, train):
        if train and 0 < p < 1 and input.numel() > 0:
            return torch.native_dropout(input, p, True)[0]
        return plain(input, p, train)

    def one_kernel(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, **kwargs):
        kernel = kernel_of(query, key, value, attn_mask)
        if kernel is None:
            with plain_attention():
                return attention(query, key, value, attn_mask, dropout_p, is_causal, **kwargs)
        recorder.attention = kernel
        keep = torch.is_grad_enabled() and any(t.requires_grad for t in (query, key, value))
        return Attention.apply(recorder, kernel, query, key, value, attn_mask, keep)

    originals = [(place, named) for place in replace(named, lambda input, p, train: dropout(input, p, train))]
    torch._VF.dropout = dropout
    if attention is not None and recorder.device.type != "cuda":
        originals += [(place, attention) for place in replace(attention, one_kernel)]
    try:
        yield
    finally:
        del torch._VF.dropout
        for (module, name), value in originals:
            setattr(module, name, value)


def plain_attention():
    """Keeps scaled_dot_product_attention from its CPU kernel."""
    try:
        from torch.nn.attention import SDPBackend, sdpa_kernel
    except ImportError:
        return contextlib.nullcontext()
    return sdpa_kernel(SDPBackend.MATH)


# -------------------------------------------------------------- one step
class Step:
    """One forward, loss and backward at one batch size."""

    def __init__(self, model, inputs, loss_fn, target, batch):
        self.recorder = r = Recorder(model, (inputs, target))
        self.batch = batch
        self.inputs = {r.known[storage(t)._cdata] for t in tensors(inputs)}
        parameters = list(model.parameters())
        r.waiting = [(i, p) for i, p in reversed(list(enumerate(parameters))) if p.requires_grad]
        gc.collect()
        torch.manual_seed(0)
        with as_on_cuda(r), r.modules(), torch.autograd.graph.saved_tensors_hooks(r.pack, r.unpack), r:
            out = run(model, inputs)
            r.sweep()
            r.events.append((OUTPUT,))
            r.calls.append([("<loss>", "loss", True, 0), None])
            r.stack.append(len(r.calls) - 1)
            loss = loss_fn(out, target)
            r.stack.pop()
            if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
                raise TraceError("loss_fn must return one number (a tensor with one element)")
            if loss.grad_fn is None:
                raise TraceError("nothing to train: the loss does not depend on a parameter with requires_grad=True")
            r.sweep()
            r.events.append((LOSS,))
            self.loss = sorted({r.find(loss)})
            self.outputs = sorted({s for s in map(r.find, tensors(out)) if s is not None})
            self.mean_saved = r.only_mean() if TORCH < (2, 2) else []
            if TORCH >= (2, 0):
                r.watch(loss)
            r.events.append((BACKWARD,))
            loss.backward()
            r.finish()

    def shape(self):
        """What must not depend on the batch."""
        r = self.recorder
        return [e for e in r.events], [c[0] for c in r.calls], r.dtype, self.outputs, self.loss


class Inference:
    """One forward in eval mode, without gradients."""

    def __init__(self, model, inputs, batch):
        self.recorder = r = Recorder(model, inputs)
        self.batch = batch
        self.inputs = {r.known[storage(t)._cdata] for t in tensors(inputs)}
        gc.collect()
        torch.manual_seed(0)
        with torch.no_grad(), as_on_cuda(r), r.modules(), r:
            out = run(model, inputs)
            r.finish()
        r.events.append((OUTPUT,))
        self.outputs = sorted({s for s in map(r.find, tensors(out)) if s is not None})

    shape = Step.shape
    loss = []


def run(model, inputs):
    return model(**inputs) if isinstance(inputs, dict) else model(*inputs)


def resized(nest, old, new, dim):
    """The inputs with another batch size."""
    if isinstance(nest, torch.Tensor):
        if nest.dim() <= dim or nest.shape[dim] != old:
            return nest
        index = torch.arange(new, device=nest.device) % old
        return nest.detach().index_select(dim, index).requires_grad_(nest.requires_grad)
    if isinstance(nest, dict):
        return {k: resized(v, old, new, dim) for k, v in nest.items()}
    if isinstance(nest, (list, tuple)):
        return tuple(resized(v, old, new, dim) for v in nest)
    return nest


# -------------------------------------------------------------- losses by name
def first_tensor(out):
    if isinstance(out, dict):
        for k in ("out", "logits"):
            if k in out:
                return out[k]
    return next(tensors(out))


def loss_by_name(name, tokens):
    """loss(out, target), and what makes the target from an output."""
    F = torch.nn.functional
    classes = {"cross_entropy": F.cross_entropy, "nll": F.nll_loss}
    pairs = {"mse": F.mse_loss, "l1": F.l1_loss, "smooth_l1": F.smooth_l1_loss, "bce_with_logits": F.binary_cross_entropy_with_logits}
    if name in classes:
        def loss(out, y):
            o = first_tensor(out)
            if tokens and o.dim() == 3:
                return classes[name](o.view(-1, o.size(-1)), y.view(-1))
            return classes[name](o, y)

        def target(o):
            shape = o.shape[:-1] if tokens and o.dim() == 3 else o.shape[:1] + o.shape[2:]
            return torch.zeros(shape, dtype=torch.int64, device=o.device)
    elif name in pairs:
        def loss(out, y):
            return pairs[name](first_tensor(out), y)
        target = torch.zeros_like
    elif name == "none":
        def loss(out, y):
            return first_tensor(out).sum()
        target = None
    else:
        raise TraceError("loss %r is not one of %s" % (name, ", ".join([*classes, *pairs, "none"])))
    return loss, target


def loss_and_target(loss_fn, tokens):
    """loss(out, target) and target(out) from what the caller gave."""
    if loss_fn is None or isinstance(loss_fn, str):
        return loss_by_name(loss_fn or "cross_entropy", tokens)
    label = type(loss_fn).__name__ if isinstance(loss_fn, torch.nn.Module) else getattr(loss_fn, "__name__", "")
    try:
        of = loss_fn.forward if isinstance(loss_fn, torch.nn.Module) else loss_fn
        needed = [p for p in inspect.signature(of).parameters.values()
                  if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    except (TypeError, ValueError):
        needed = [None, None]
    if len(needed) < 2:
        return (lambda out, y: loss_fn(out)), None
    if label in ("CrossEntropyLoss", "NLLLoss", "cross_entropy", "nll_loss"):
        return loss_fn, loss_by_name("cross_entropy", False)[1]
    return loss_fn, torch.zeros_like


# -------------------------------------------------------------- the file
def affine(a, b):
    """size(batch) = p + q * batch through the two steps."""
    q = (b[1] - a[1]) // (b[0] - a[0])
    return a[1] - q * a[0], q


class Table(dict):
    """Numbers values in order of first use."""
    def __call__(self, value):
        return self.setdefault(value, len(self))


def differ(a, b):
    for i, (x, y) in enumerate(zip(a.recorder.events, b.recorder.events)):
        if x != y:
            return i
    return min(len(a.recorder.events), len(b.recorder.events))


def place(step, i):
    for e in reversed(step.recorder.events[:i + 1]):
        if e[0] == STEP:
            return "%s in %s" % (e[1], step.recorder.calls[e[2]][0][0] or "the model itself")
    return "the start"


def stream(a, b, third, tables):
    """The events of two steps as integers, sizes made affine."""
    ra, rb = a.recorder, b.recorder
    if a.shape() != b.shape():
        i = differ(a, b)
        raise TraceError("the operations depend on the batch size, or on chance: after %s with batch %d, after %s with batch %d. "
                         "Switch such layers (layer drop, data-dependent branches) off for the trace" % (place(a, i), a.batch, place(b, i), b.batch))
    ops, sizes, dtypes, modules = tables
    lines = [affine((a.batch, x), (b.batch, y)) for x, y in zip(ra.size, rb.size)]
    if any(p and q for p, q in lines):
        c = third()
        if c.shape() != a.shape():
            raise TraceError("the operations depend on the batch size")
        for i, (p, q) in enumerate(lines):
            if c.recorder.size[i] != p + q * c.batch:
                raise TraceError("a tensor made by %s has %d bytes with batch %d, %d with batch %d, %d with batch %d: not a + b * batch, "
                                 "so it cannot be given for other batches" % (ra.made_by[i], ra.size[i], a.batch, rb.size[i], b.batch, c.recorder.size[i], c.batch))
    fixed = ra.resident
    outside = list(range(fixed)) + ra.constants        # resident in the file, then the batch
    batch = [s for s in range(fixed, len(ra.size)) if ra.made_by[s] is None]
    number = {s: i for i, s in enumerate(outside + batch)}
    events = []
    for e in ra.events:
        kind = e[0]
        if kind == STEP:
            reads = [number[s] for s in e[3] if s in number]
            events += [STEP, ops(e[1]), e[2], len(reads), *reads]
        elif kind in (ALLOC, COPY):
            s = e[-1]
            number[s] = len(number)
            events += [kind, *e[1:-1], sizes(lines[s]), dtypes(ra.dtype[s])]
        elif kind == FREE:
            events += [FREE, number[e[1]]]
        elif kind == SAVE:
            events += [SAVE, number[e[1]], e[2]]
        elif kind == GRAD:
            events += [GRAD, e[1], number[e[2]]]
        else:
            events.append(kind)
    calls = [[modules(ca[0]), None if ca[1] is None else [x if x == y else affine((a.batch, x), (b.batch, y)) for x, y in zip(ca[1], cb[1])]]
             for ca, cb in zip(ra.calls, rb.calls)]
    row = lambda s, flag: [sizes(lines[s]), dtypes(ra.dtype[s]), int(flag)]
    return dict(resident=[row(s, s in ra.of_parameters) for s in outside], batch=[row(s, s in a.inputs) for s in batch], calls=calls, events=events,
                outputs=[number[s] for s in a.outputs], loss=[number[s] for s in a.loss]), number


@contextlib.contextmanager
def unchanged(model):
    """Puts mode, gradients, buffers and the random state back."""
    modes = [(m, m.training) for m in model.modules()]
    grads = [(p, p.grad) for p in model.parameters()]
    buffers = [(b, b.detach().clone()) for b in model.buffers()]
    random = torch.random.get_rng_state()
    collecting = gc.isenabled()
    gc.disable()
    for p, _ in grads:
        p.grad = None
    try:
        yield
    finally:
        if collecting:
            gc.enable()
        torch.random.set_rng_state(random)
        for m, mode in modes:
            m.training = mode
        for p, g in grads:
            p.grad = g
        with torch.no_grad():
            for b, value in buffers:
                b.copy_(value)


def autocast_type(device):
    """The type of the autocast around the call, None outside."""
    if TORCH >= (2, 4):
        return name_of(torch.get_autocast_dtype(device)) if torch.is_autocast_enabled(device) else None
    if device == "cpu":
        return name_of(torch.get_autocast_cpu_dtype()) if torch.is_autocast_cpu_enabled() else None
    return name_of(torch.get_autocast_gpu_dtype()) if torch.is_autocast_enabled() else None


def trace(model, inputs, loss_fn=None, target=None, batch_dim=0):
    """The trace as a dict; see the top of this file."""
    if isinstance(inputs, torch.Tensor):
        inputs = (inputs,)
    elif not isinstance(inputs, dict):
        inputs = tuple(inputs)
    sized = [t for t in tensors(inputs) if t.dim() > batch_dim]
    if not sized:
        raise TraceError("inputs holds no tensor with a batch dimension")
    first = sized[0].shape[batch_dim]
    if first < 2:
        raise TraceError("the batch has %d sample: at batch 1 some copies are not made, so give at least 2" % first)
    tokens = not sized[0].is_floating_point()
    loss, make = loss_and_target(loss_fn, tokens)
    if target is not None:
        make = None
    second, third = first + 1, first + 2
    cases = {b: (resized(inputs, first, b, batch_dim), resized(target, first, b, batch_dim)) for b in (first, second, third)}

    def step(b):
        x, y = cases[b]
        for p in model.parameters():
            p.grad = None
        s = Step(model, x, loss, y, b)
        for p in model.parameters():
            p.grad = None
        s.recorder.of_parameters = {s.recorder.known[storage(p)._cdata] for p in model.parameters()}
        return s

    def forward(b):
        s = Inference(model, cases[b][0], b)
        s.recorder.of_parameters = {s.recorder.known[storage(p)._cdata] for p in model.parameters()}
        return s

    with unchanged(model):
        model.train()
        for b in (first, second, third):      # tables a model makes at its first call are made here
            with torch.no_grad():
                torch.manual_seed(0)
                out = run(model, cases[b][0])
            if make is not None:
                cases[b] = cases[b][0], make(first_tensor(out))
            del out
            if make is None:
                break
        tables = Table(), Table(), Table(), Table()
        a, b = step(first), step(second)
        train, number = stream(a, b, lambda: step(third), tables)
        infer = None
        try:
            model.eval()
            infer, _ = stream(forward(first), forward(second), lambda: forward(third), tables)
        except (TraceError, RuntimeError, TypeError, ValueError, NotImplementedError) as e:
            print("vrametre_trace: inference could not be traced (%s); training is" % e, file=sys.stderr)
    ops, sizes, dtypes, modules = tables
    r = a.recorder
    count = {}
    for p in model.parameters():
        count[p.dtype] = count.get(p.dtype, 0) + p.numel()
    shapes = [[[x if x == y else affine((first, x), (second, y)) for x, y in zip(t.shape, u.shape)], dtypes(name_of(t.dtype))]
              for t, u in zip(tensors(cases[first][0]), tensors(cases[second][0]))]
    parameters = [[n, list(p.shape), dtypes(name_of(p.dtype)), int(p.requires_grad), number[r.known[storage(p)._cdata]]] for n, p in model.named_parameters()]
    return dict(format="vrametre-trace", version=VERSION, torch=torch.__version__, device=r.device.type,
                dtype=name_of(max(count, key=count.get)) if count else "float32", autocast=autocast_type(r.device.type), attention=r.attention,
                batches=[first, second], inputs=shapes, ops=list(ops), modules=[list(m) for m in modules], sizes=[v for pair in sizes for v in pair],
                dtypes=list(dtypes), parameters=parameters, train=train, infer=infer, mean_saved=[number[s] for s in a.mean_saved])


def export(model, inputs, loss_fn=None, path="trace.json", target=None, batch_dim=0):
    """Traces one training step of model and writes it to path. Raises TraceError when that cannot be done."""
    result = trace(model, inputs, loss_fn, target, batch_dim)
    text = json.dumps(result, separators=(",", ":"))
    with open(path, "w", encoding="utf-8") as f:
        f.write(text + "\n")
    print("%s: %d parameters, %d calls of modules, %d bytes" % (path, len(result["parameters"]), len(result["train"]["calls"]), len(text) + 1))


# -------------------------------------------------------------- the command
def an_input(text, batch, device):
    """'3,128,128' or '256:int64', per sample."""
    shape, _, dtype = text.partition(":")
    try:
        dims = [batch] + [int(n) for n in shape.split(",") if n != ""]
        kind = getattr(torch, dtype or "float32")
    except (ValueError, AttributeError):
        raise TraceError("--input %s: write the sizes of one sample, as in 3,128,128, then the type if it is not float32, as in 256:int64" % text)
    if kind.is_floating_point:
        return torch.rand(dims, device=device).to(kind)
    return torch.zeros(dims, dtype=kind, device=device)     # 0 is a valid index of any table


def main(argv=None):
    p = argparse.ArgumentParser(description="Write the memory trace of one training step of a PyTorch model.")
    p.add_argument("model", help="module:name of a function without arguments that makes the model, or of a model")
    p.add_argument("--input", action="append", required=True, metavar="SHAPE[:DTYPE]", help="shape of one sample, as in 3,128,128 or 256:int64; once per input")
    p.add_argument("--batch", type=int, default=2, help="samples, at least 2 (the trace serves any batch)")
    p.add_argument("--loss", default="cross_entropy", help="cross_entropy, nll, mse, l1, smooth_l1, bce_with_logits or none")
    p.add_argument("--device", default="cpu", help="cpu, meta or cuda")
    p.add_argument("--output", default="trace.json")
    a = p.parse_args(argv)
    try:
        if a.batch < 2:
            raise TraceError("--batch %d: at batch 1 some copies are not made, so give at least 2" % a.batch)
        module, _, name = a.model.partition(":")
        if not name:
            raise TraceError("%s: write module:function, as in mymodule:make_model" % a.model)
        sys.path.insert(0, os.getcwd())
        model = importlib.import_module(module)
        for part in name.split("."):
            model = getattr(model, part)
        if not isinstance(model, torch.nn.Module):
            model = model()
        model = model.to(a.device)
        torch.manual_seed(0)
        export(model, tuple(an_input(text, a.batch, a.device) for text in a.input), a.loss, a.output)
    except NotImplementedError as e:
        print("vrametre_trace: %s has no kernel for an operation of this model (%s); --device cpu has" % (a.device, str(e).splitlines()[0]), file=sys.stderr)
        return 1
    except (TraceError, ImportError, AttributeError) as e:
        print("vrametre_trace: %s" % e, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
