"""Which layers PyTorch refuses: wrong ranks, list lengths, dimensions and sizes of each type. Prints JSON lines
[type, arguments, shapes, result, dtypes]: shapes are per sample (the batch is 2), the result is a shape, or null where
PyTorch raises, and dtypes are there where one is not float32. refused_1.13.jsonl is from PyTorch 1.13 and torchvision 0.14,
refused_2.6.jsonl from PyTorch 2.6 with the argument --new: the types that 1.13 does not have. No GPU is needed."""
import itertools, json, sys, warnings
import torch
from torch import nn
import torch.nn.functional as F

warnings.filterwarnings("ignore")
torch.manual_seed(0)
try:
    import torchvision
    from torchvision.ops.misc import FrozenBatchNorm2d, SqueezeExcitation, Permute
    from torchvision.ops import StochasticDepth
    from torchvision.models.convnext import LayerNorm2d
except ImportError:
    torchvision = None

BATCH = 2
seen = set()

def function(name):
    def sdpa(q, k, v, dropout_p=0.0, is_causal=False):
        return F.scaled_dot_product_attention(q, k, v, None, dropout_p, is_causal)
    return {
        "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b, "add_": lambda a, b: a.clone().add_(b),
        "matmul": torch.matmul, "softmax": lambda x, dim=None: F.softmax(x, dim=dim), "log_softmax": lambda x, dim=None: F.log_softmax(x, dim=dim),
        "mean": lambda x, dim=None, keepdim=False: x.mean(dim, keepdim) if dim is not None else x.mean(),
        "sum": lambda x, dim=None, keepdim=False: x.sum(dim, keepdim) if dim is not None else x.sum(),
        "cat": lambda *x, dim=1: torch.cat(x, dim), "view": lambda x, shape: x.view(shape), "reshape": lambda x, shape: x.reshape(shape),
        "flatten": lambda x, start_dim=0, end_dim=-1: x.flatten(start_dim, end_dim), "permute": lambda x, dims: x.permute(dims),
        "transpose": lambda x, dim0=0, dim1=1: x.transpose(dim0, dim1), "unsqueeze": lambda x, dim=0: x.unsqueeze(dim), "squeeze": lambda x, dim=0: x.squeeze(dim),
        "select": lambda x, dim=0, index=0: x.select(dim, index), "narrow": lambda x, dim=0, length=1, start=0: x.narrow(dim, start, length),
        "chunk": lambda x, chunks, dim=0, index=0: x.chunk(chunks, dim)[index] if 0 <= index else 1 / 0, "max": lambda x, dim=-1, keepdim=False: x.max(dim, keepdim)[0],
        "norm": lambda x, dim=-1: x.norm(2, dim, True), "normalize": lambda x, dim=1: F.normalize(x, dim=dim), "glu": lambda x, dim=-1: F.glu(x, dim),
        "interpolate": lambda x, size=None, scale_factor=None, mode="nearest": F.interpolate(x, size, scale_factor, mode),
        "where": lambda c, a, b: torch.where(c.bool(), a, b), "masked_fill": lambda x, m: x.masked_fill(m.bool(), 0.), "index": lambda x, i: x[i],
        "scaled_dot_product_attention": sdpa, "exp": torch.exp, "clamp": lambda x: x.clamp(0, 1), "dropout": lambda x, p=0.5, inplace=False: F.dropout(x, p, True, inplace),
    }[name]

def module(typ, args):
    a = dict(args)
    if typ in ("SqueezeExcitation", "StochasticDepth", "Permute", "FrozenBatchNorm2d", "LayerNorm2d"):
        if typ == "StochasticDepth":
            a.setdefault("mode", "row")
        return globals()[typ](**a)
    if typ == "Embedding" or typ == "EmbeddingBag":
        return getattr(nn, typ)(**a)
    if typ in ("TransformerEncoder", "TransformerDecoder"):
        n = a.pop("num_layers")
        layer = getattr(nn, typ + "Layer")(**a)
        return getattr(nn, typ)(layer, n)
    if typ == "MultiheadAttention":
        m = nn.MultiheadAttention(**a)
        return lambda *x: m(x[0], x[1] if len(x) > 2 else x[-1], x[-1])[0]
    return getattr(nn, typ)(**a)

def tuples(v):
    if isinstance(v, list):
        return tuple(tuples(e) for e in v)
    return v

def run(typ, args, shapes, dtypes):
    args = {k: tuples(v) for k, v in args.items()}
    xs = []
    for s, d in zip(shapes, dtypes):
        d = getattr(torch, d)
        if d.is_floating_point:
            xs.append(torch.randn([BATCH] + s, dtype=d).requires_grad_())
        else:
            xs.append(torch.zeros([BATCH] + s, dtype=d))
    f = function(typ) if typ[0].islower() else module(typ, args)
    y = f(*xs, **args) if typ[0].islower() else f(*xs)
    if isinstance(y, tuple):
        y = y[0]
    return list(y.shape)

def case(typ, args, *shapes, dtypes=None):
    dtypes = dtypes or ["float32"] * len(shapes)
    for s in shapes:
        if any(d < 1 for d in s) or torch.Size(s).numel() > 1 << 22:
            return
    key = json.dumps([typ, args, shapes, dtypes], sort_keys=True)
    if key in seen:
        return
    seen.add(key)
    if typ[0].isupper() and not hasattr(nn, typ) and typ not in globals():
        return
    if typ == "scaled_dot_product_attention" and not hasattr(F, typ):
        return
    new = typ in ("RMSNorm", "ZeroPad1d", "ZeroPad3d", "scaled_dot_product_attention") or typ.startswith("CircularPad")
    if new != ("--new" in sys.argv):
        return
    row = [typ, args, list(shapes)]
    try:
        row.append(run(typ, args, list(shapes), dtypes))
    except MemoryError:
        return
    except Exception as e:
        if "DefaultCPUAllocator" in str(e):
            return
        row.append(None)
    if any(d != "float32" for d in dtypes):
        row.append(dtypes)
    print(json.dumps(row, separators=(",", ":")))

def ranks(typ, args, size=8, channels=None, top=6):
    """Inputs of every rank, all sizes alike; then with the right channels first."""
    for n in range(top):
        case(typ, args, [size] * n)
        if channels and n > 0:
            case(typ, args, [channels] + [size] * (n - 1))
            case(typ, args, [channels + 1] + [size] * (n - 1))
            case(typ, args, [size] * (n - 1) + [channels])

def vary(typ, args, names, values, *shapes):
    for n in names:
        for v in values:
            case(typ, {**args, n: v}, *shapes)

LISTS = [[2], [2, 2], [2, 2, 2], [2, 2, 2, 2], [], [0], [0, 0], [-1, 1], [3, 2], [1, 0]]
NUMBERS = [0, -1, 1, 2, 3, 7, 9, 50]
WRONG = [1.5, "x", True]

def main():
    for d in (1, 2, 3):
        m = [8] * d
        for t in ("Conv", "ConvTranspose"):
            typ, base = f"{t}{d}d", {"in_channels": 4, "out_channels": 6, "kernel_size": 3}
            ranks(typ, base, channels=4)
            for n in ("kernel_size", "stride", "padding", "dilation") + (("output_padding",) if t != "Conv" else ()):
                for v in NUMBERS + LISTS + WRONG:
                    case(typ, {**base, n: v}, [4] + m)
            for v in (0, -1, 2, 3, 4, 1.5):
                case(typ, {**base, "groups": v}, [4] + m)
            for n in ("in_channels", "out_channels"):
                for v in (0, -1, 5, 1.5):
                    case(typ, {**base, n: v}, [4] + m)
            for v in ("zeros", "reflect", "replicate", "circular", "same"):
                for p in (0, 1, 7, 8, 9):
                    case(typ, {**base, "padding_mode": v, "padding": p}, [4] + m)
            for v in ("same", "valid", "full"):
                for s in (1, 2):
                    for k in (3, 4):
                        case(typ, {**base, "padding": v, "stride": s, "kernel_size": k}, [4] + m)
            case(typ, {**base, "stride": 2, "output_padding": 1}, [4] + m)
            case(typ, {**base, "stride": 2, "output_padding": 2}, [4] + m)
            case(typ, {**base, "dilation": 3, "output_padding": 2}, [4] + m)
            case(typ, base, [4] + m, dtypes=["int64"])
            case(typ, base, [4] + m, dtypes=["float64"])
            for s in (1, 2, 3):
                case(typ, base, [4] + [s] * d)
                case(typ, {**base, "padding": 1}, [4] + [s] * d)
        for t in ("MaxPool", "AvgPool"):
            typ, base = f"{t}{d}d", {"kernel_size": 3}
            ranks(typ, base)
            for n in ("kernel_size", "stride", "padding") + (("dilation",) if t == "MaxPool" else ()):
                for v in NUMBERS + LISTS + WRONG:
                    case(typ, {**base, n: v}, [4] + m)
            for s in (1, 2, 3, 4):
                for c in (False, True):
                    case(typ, {**base, "ceil_mode": c}, [4] + [s] * d)
                    case(typ, {**base, "ceil_mode": c, "stride": 2, "padding": 1}, [4] + [s] * d)
            case(typ, base, [4] + m, dtypes=["int64"])
        for t in ("AdaptiveAvgPool", "AdaptiveMaxPool"):
            typ = f"{t}{d}d"
            ranks(typ, {"output_size": 2})
            for v in NUMBERS + LISTS + WRONG + [[None, 2], [None] * d, None, [2, None, 2]]:
                case(typ, {"output_size": v}, [4] + m)
            case(typ, {"output_size": 2}, [4] + m, dtypes=["int64"])
        for t in ("BatchNorm", "InstanceNorm"):
            typ = f"{t}{d}d"
            for extra in ({}, {"affine": True, "track_running_stats": True}):
                ranks(typ, {"num_features": 4, **extra}, channels=4)
                for v in (0, -1, 5, 8, 1.5):
                    case(typ, {"num_features": v, **extra}, [4] + m)
                for s in (1, 2):
                    case(typ, {"num_features": 4, **extra}, [4] + [s] * d)
            case(typ, {"num_features": 4}, [4] + m, dtypes=["int64"])
        for t in ("ZeroPad", "ConstantPad", "ReflectionPad", "ReplicationPad", "CircularPad"):
            typ = f"{t}{d}d"
            value = {"value": 1.0} if t == "ConstantPad" else {}
            ranks(typ, {"padding": 2, **value})
            for v in NUMBERS[:-1] + LISTS + WRONG + [-4, -8, [1, 2, 3, 4, 5, 6], [1, 2, 3], [8, 8], [7, 8, 1, 1]]:
                case(typ, {"padding": v, **value}, [4] + m)
                case(typ, {"padding": v, **value}, [4] + [3] * d)
        typ = f"Dropout{d}d"
        ranks(typ, {"p": 0.5})
        if d < 3:
            typ = f"LPPool{d}d"
            ranks(typ, {"norm_type": 2, "kernel_size": 3})
            for n in ("kernel_size", "stride"):
                for v in NUMBERS + LISTS:
                    case(typ, {"norm_type": 2, "kernel_size": 3, n: v}, [4] + m)
    for p in (0, 1, 0.5, -0.1, 1.5, "x", True):
        for typ in ("Dropout", "Dropout2d", "AlphaDropout", "FeatureAlphaDropout"):
            case(typ, {"p": p}, [4, 8, 8])
    for typ in ("Dropout", "AlphaDropout", "FeatureAlphaDropout"):
        ranks(typ, {})
        case(typ, {}, [4, 8], dtypes=["int64"])
    for typ in ("Linear",):
        base = {"in_features": 8, "out_features": 4}
        ranks(typ, base)
        for n in base:
            for v in (0, -1, 7, 1.5, "x", [8]):
                case(typ, {**base, n: v}, [8])
        case(typ, base, [8], dtypes=["int64"])
        case(typ, base, [8], dtypes=["float64"])
        case(typ, base, [8], dtypes=["float16"])
        case(typ, base, [8, 9])
    base = {"in1_features": 8, "in2_features": 6, "out_features": 4}
    for a, b in itertools.product(([8], [3, 8], [7], [1, 8]), ([6], [3, 6], [5], [4, 6])):
        case("Bilinear", base, a, b)
    case("Bilinear", base, [8])
    for n in base:
        for v in (0, -1, 1.5):
            case("Bilinear", {**base, n: v}, [8], [6])
    for v in (8, [8], [8, 8], [4, 8, 8], [2, 4, 8, 8], [4], [], [0], 0, -1, [-8], 1.5, "x", [3, 8]):
        case("LayerNorm", {"normalized_shape": v}, [4, 8, 8])
        case("RMSNorm", {"normalized_shape": v}, [4, 8, 8])
        case("LayerNorm", {"normalized_shape": v}, [8])
    case("LayerNorm", {"normalized_shape": 8}, [8], dtypes=["int64"])
    case("LayerNorm", {"normalized_shape": 8}, [8], dtypes=["float64"])
    ranks("LayerNorm", {"normalized_shape": 8}, channels=4)
    for g, c in itertools.product((0, -1, 1, 2, 3, 8, 1.5), (0, -1, 4, 6, 8)):
        case("GroupNorm", {"num_groups": g, "num_channels": c}, [4, 8, 8])
    ranks("GroupNorm", {"num_groups": 2, "num_channels": 4}, channels=4)
    case("GroupNorm", {"num_groups": 4, "num_channels": 4}, [4])
    for v in (0, -1, 1, 2, 3, 5, 9, 1.5):
        case("LocalResponseNorm", {"size": v}, [4, 8, 8])
    ranks("LocalResponseNorm", {"size": 2})
    acts = ["ReLU", "Sigmoid", "Tanh", "LeakyReLU", "ELU", "CELU", "SELU", "GELU", "Softplus", "Softshrink", "Hardshrink", "SiLU", "Mish", "Hardswish", "Hardsigmoid",
            "ReLU6", "Hardtanh", "LogSigmoid", "Softsign", "Tanhshrink", "RReLU"]
    for typ in acts:
        case(typ, {}, [4, 8])
        case(typ, {}, [4, 8], dtypes=["int64"])
        case(typ, {"inplace": 3}, [4, 8])
    for v in (1, 2, 4, 8, 0, -1, 1.5):
        case("PReLU", {"num_parameters": v}, [4, 8, 8])
        case("PReLU", {"num_parameters": v}, [4])
        case("PReLU", {"num_parameters": v}, [])
    for typ in ("Softmax", "LogSoftmax", "Softmin"):
        for v in (-5, -4, -3, -1, 0, 1, 2, 3, 4, 9, 1.5, "x", None):
            case(typ, {"dim": v}, [4, 8])
            case(typ.lower() if typ == "Softmax" else "log_softmax", {"dim": v}, [4, 8])
    ranks("Softmax2d", {})
    for v in (-5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 9):
        for s in ([4, 8], [4, 7], [3, 8]):
            case("GLU", {"dim": v}, s)
            case("glu", {"dim": v}, s)
        for typ in ("mean", "sum", "max", "norm", "normalize", "select", "squeeze", "unsqueeze"):
            case(typ, {"dim": v}, [1, 8])
        case("mean", {"dim": [v, 1]}, [4, 8])
        case("narrow", {"dim": v, "length": 3}, [4, 8])
        case("chunk", {"dim": v, "chunks": 2}, [4, 8])
        case("cat", {"dim": v}, [4, 8], [4, 8])
        case("cat", {"dim": v}, [4, 8], [5, 8])
        case("transpose", {"dim0": v, "dim1": 1}, [4, 8])
        case("flatten", {"start_dim": v}, [4, 8])
        case("flatten", {"start_dim": 1, "end_dim": v}, [4, 8])
        case("flatten", {"start_dim": 2, "end_dim": v}, [4, 8])
        case("Flatten", {"start_dim": v}, [4, 8])
        case("Flatten", {"start_dim": 2, "end_dim": v}, [4, 8])
        case("Unflatten", {"dim": v, "unflattened_size": [2, 4]}, [8, 8])
        case("CosineSimilarity", {"dim": v}, [4, 8], [4, 8])
    for v in ([2, 4], [3, 3], [-1, 2], [2, -1], [-1, -1], [8], [0, 8], [], 8, [-2, 4]):
        case("Unflatten", {"dim": 1, "unflattened_size": v}, [8, 8])
        case("view", {"shape": v}, [4])
        case("view", {"shape": v}, [8])
        case("reshape", {"shape": v}, [8])
        case("reshape", {"shape": v}, [4])
    for v in ([0, 1, 2], [0, 2, 1], [0, 1], [0, 1, 3], [0, 0, 1], [-1, 0, 1], [0, -1, 2], [0, 1, 2, 3], []):
        case("permute", {"dims": v}, [4, 8])
        case("Permute", {"dims": v}, [4, 8])
    for s in (-1, 0, 5, 6):
        for n in (-1, 0, 3, 8, 9):
            case("narrow", {"dim": 2, "length": n, "start": s}, [4, 8])
        case("select", {"dim": 2, "index": s}, [4, 5])
        case("select", {"dim": 2, "index": -s}, [4, 5])
    for c in (0, -1, 1, 3, 8, 20):
        for i in (0, 1, 2, 7, 9):
            case("chunk", {"chunks": c, "dim": 2, "index": i}, [4, 8])
    pairs = [([4, 8], [4, 8]), ([4, 8], [1, 8]), ([4, 8], [8]), ([4, 8], [5, 8]), ([4, 8], []), ([1, 8], [4, 8]), ([4, 8], [8, 5]), ([4, 8], [4, 8, 5]), ([3, 4, 8], [3, 8, 5]), ([3, 4, 8], [2, 8, 5]), ([], []), ([4], [4]), ([8, 8], [8])]
    for typ in ("add", "sub", "mul", "div", "add_", "matmul", "cat", "PairwiseDistance", "CosineSimilarity", "masked_fill"):
        for a, b in pairs:
            case(typ, {}, a, b)
    for typ in ("add", "matmul", "PairwiseDistance", "CosineSimilarity", "where"):
        case(typ, {}, [4, 8])
    for a, b in pairs:
        case("where", {}, a, a, b)
    for s in ([4], [], [4, 8]):
        case("index", {}, [4, 8], s, dtypes=["float32", "int64"])
        case("index", {}, [4, 8], s)
    for t in ("PixelShuffle", "PixelUnshuffle"):
        n = "upscale_factor" if t == "PixelShuffle" else "downscale_factor"
        ranks(t, {n: 2}, channels=4)
        for v in (0, -1, 1, 2, 3, 4, 1.5):
            case(t, {n: v}, [16, 8, 8])
    for v in (0, -1, 1, 2, 3, 1.5):
        case("ChannelShuffle", {"groups": v}, [4, 8, 8])
    ranks("ChannelShuffle", {"groups": 2}, channels=4)
    modes = ("nearest", "linear", "bilinear", "bicubic", "trilinear", "area", "nearest-exact", "x")
    for n in range(6):
        for mode in modes:
            for typ in ("Upsample", "interpolate"):
                case(typ, {"scale_factor": 2, "mode": mode}, [4] * n)
    for typ in ("Upsample", "interpolate"):
        for v in (0, -1, 0.5, 0.01, 2, 2.5, [2, 2], [2], [2, 2, 2], [], "x", None):
            case(typ, {"scale_factor": v}, [4, 8, 8])
        for v in (0, -1, 4, 1.5, [4, 4], [4], [4, 4, 4], [], [0, 4], "x"):
            case(typ, {"size": v}, [4, 8, 8])
        case(typ, {"size": 4, "scale_factor": 2}, [4, 8, 8])
        case(typ, {}, [4, 8, 8])
    for typ in ("UpsamplingNearest2d", "UpsamplingBilinear2d"):
        ranks(typ, {"scale_factor": 2})
    for typ in ("Unfold", "Fold"):
        base = {"kernel_size": 3} if typ == "Unfold" else {"kernel_size": 3, "output_size": [8, 8]}
        s = [4, 8, 8] if typ == "Unfold" else [36, 36]
        ranks(typ, base)
        for n in ("kernel_size", "stride", "padding", "dilation") + (("output_size",) if typ == "Fold" else ()):
            for v in NUMBERS + LISTS + WRONG:
                case(typ, {**base, n: v}, s)
        case(typ, base, [36, 35])
        case(typ, base, [35, 36])
    for v in (2, [2, 2], [2], [2, 2, 2], 8, 9, 0):
        case("FractionalMaxPool2d", {"kernel_size": 2, "output_size": v}, [4, 8, 8])
        case("FractionalMaxPool2d", {"kernel_size": v, "output_size": 2}, [4, 8, 8])
    for v in (0.5, [0.5, 0.5], [0.5], 1.5, 1, 0, -0.5, 0.01):
        case("FractionalMaxPool2d", {"kernel_size": 2, "output_ratio": v}, [4, 8, 8])
    ranks("FractionalMaxPool2d", {"kernel_size": 2, "output_size": 2})
    case("FractionalMaxPool2d", {"kernel_size": 2}, [4, 8, 8])
    base = {"num_embeddings": 10, "embedding_dim": 4}
    for typ in ("Embedding", "EmbeddingBag"):
        for n in range(4):
            case(typ, base, [3] * n, dtypes=["int64"])
            case(typ, base, [3] * n, dtypes=["int32"])
            case(typ, base, [3] * n)
        for n in base:
            for v in (-1, 1.5, "x"):
                case(typ, {**base, n: v}, [3], dtypes=["int64"])
        for d in ("uint8", "bool"):
            case(typ, base, [3], dtypes=[d])
    for v in (-11, -10, -1, 0, 9, 10, 1.5):
        case("Embedding", {**base, "padding_idx": v}, [3], dtypes=["int64"])
    for v in ("sum", "mean", "max", "min"):
        case("EmbeddingBag", {**base, "mode": v}, [3], dtypes=["int64"])
    for typ in ("RNN", "LSTM", "GRU"):
        base = {"input_size": 8, "hidden_size": 4}
        ranks(typ, base)
        for n in range(1, 4):
            case(typ, base, [8] * n + [7])
        for n in ("input_size", "hidden_size", "num_layers", "proj_size"):
            for v in (0, -1, 1, 2, 4, 5, 1.5):
                case(typ, {**base, n: v}, [5, 8])
        case(typ, {**base, "nonlinearity": "x"}, [5, 8])
        for v in (-1, 0.5, 2):
            case(typ, {**base, "dropout": v, "num_layers": 2}, [5, 8])
        cell = typ + "Cell"
        ranks(cell, base)
        for n in base:
            for v in (-1, 1, 1.5):
                case(cell, {**base, n: v}, [8])
        for s in ([4], [5], [4, 4]):
            case(cell, base, [8], s) if typ != "LSTM" else None
    base = {"embed_dim": 8, "num_heads": 2, "batch_first": True}
    ranks("MultiheadAttention", base)
    for n in ("embed_dim", "num_heads", "kdim", "vdim"):
        for v in (0, -1, 3, 8, 1.5):
            case("MultiheadAttention", {**base, n: v}, [5, 8])
    for k, v in (([6, 8], [6, 8]), ([6, 8], [7, 8]), ([6, 7], [6, 7]), ([6, 8], [6, 7])):
        case("MultiheadAttention", base, [5, 8], k, v)
        case("MultiheadAttention", {**base, "kdim": 7, "vdim": 7}, [5, 8], k, v)
        case("MultiheadAttention", {**base, "vdim": 7}, [5, 8], k, v)
    case("MultiheadAttention", {**base, "dropout": 2}, [5, 8])
    for typ in ("TransformerEncoderLayer", "TransformerDecoderLayer", "TransformerEncoder", "TransformerDecoder", "Transformer"):
        base = {"d_model": 8, "nhead": 2, "dim_feedforward": 16, "batch_first": True}
        if typ in ("TransformerEncoder", "TransformerDecoder"):
            base["num_layers"] = 2
        two = not typ.startswith("TransformerEncoder")
        rest = [[5, 8]] if two else []
        for s in ([5, 8], [5, 7], [8], [], [2, 5, 8], [5, 8, 8]):
            case(typ, base, s, *rest)
            if two:
                case(typ, base, [5, 8], s)
        if two:
            case(typ, base, [5, 8])
        for n in ("d_model", "nhead", "dim_feedforward"):
            for v in (-1, 0, 3, 1.5):
                case(typ, {**base, n: v}, [5, 8], *rest)
        for n in {"Transformer": ("num_encoder_layers", "num_decoder_layers"), "TransformerEncoder": ("num_layers",), "TransformerDecoder": ("num_layers",)}.get(typ, ()):
            for v in (-1, 0, 1, 1.5):
                case(typ, {**base, n: v}, [5, 8], *rest)
        for v in ("relu", "gelu", "x", 3):
            case(typ, {**base, "activation": v}, [5, 8], *rest)
        for v in (0, 1, -1, 2):
            case(typ, {**base, "dropout": v}, [5, 8], *rest)
    for typ, base in (("SqueezeExcitation", {"input_channels": 4, "squeeze_channels": 2}), ("FrozenBatchNorm2d", {"num_features": 4}), ("LayerNorm2d", {"normalized_shape": [4]})):
        ranks(typ, base, channels=4)
        for n in base:
            for v in (0, -1, 5, 1.5):
                case(typ, {**base, n: v}, [4, 8, 8])
    for v in (-0.1, 0, 0.5, 1, 1.5):
        case("StochasticDepth", {"p": v}, [4, 8])
    case("StochasticDepth", {"p": 0.5, "mode": "x"}, [4, 8])
    for q, k, v in ((([2, 5, 8],) * 3), ([2, 5, 8], [2, 6, 8], [2, 6, 8]), ([2, 5, 8], [2, 6, 7], [2, 6, 8]), ([2, 5, 8], [2, 6, 8], [2, 7, 8]), ([2, 5, 8], [3, 6, 8], [3, 6, 8]), ([5, 8],) * 3, ([8],) * 3, ([2, 5, 8], [2, 6, 8], [2, 6, 9])):
        case("scaled_dot_product_attention", {}, q, k, v)
    for v in (0, 0.5, 1, 1.5):
        case("scaled_dot_product_attention", {"dropout_p": v}, [2, 5, 8], [2, 5, 8], [2, 5, 8])
    for typ in ("exp", "clamp", "dropout"):
        case(typ, {}, [4, 8])
        case(typ, {}, [4, 8], dtypes=["int64"])
    case("Identity", {}, [])

main()
