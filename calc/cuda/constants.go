package cuda

// Constant is a size that no rule of the network gives: bytes with the range
// seen, and the code of its source.
type Constant struct {
	Bytes, Low, High int64
	Source           string
}

// Source codes of this package's constants.
const (
	SourceNone          = "none"                  // the device has no such thing
	SourceCublas        = "pytorch-cublas"        // aten/src/ATen/cuda/CublasHandlePool.cpp, parseChosenWorkspaceSize
	SourceCublasOld     = "pytorch-issue-95668"   // 1.13: the workspace is cuBLAS's own, outside the allocator
	SourceCublasPending = "pytorch-pr-175344"     // Blackwell's workspace, changed after 2.11
	SourceContextLazy   = "pytorch-pr-86509"      // lazy against eager module loading, measured for 1.13
	SourceContextEager  = "context-measured"      // before 1.13: measured per card
	SourceContextGuess  = "context-as-for-nvidia" // nothing measured for this vendor
)

// Sources lists every code that a Constant or a Measurement of this package can carry.
func Sources() []string {
	return []string{SourceNone, SourceCublas, SourceCublasOld, SourceCublasPending, SourceContextLazy, SourceContextEager, SourceContextGuess}
}

// CublasWorkspace is the workspace that PyTorch allocates, through the caching
// allocator and for good, per thread that calls cuBLAS: the main thread at its
// first matrix product and autograd's thread at its own first one, each having
// a handle (DeviceThreadHandlePool). The default is :4096:2:16:8, that is
// 2 x 4096 + 8 x 16 KiB, and 32 MiB on sm_90. vendor and architecture are the
// catalogue's; major and minor are PyTorch's version.
func CublasWorkspace(major, minor int, vendor, architecture string) Constant {
	const (
		before90 = (2*4096 + 8*16) << 10
		sm90     = 32 << 20
		rocm     = 32 << 20
		mi300    = 128 << 20 // gfx94x, gfx95x
	)
	exact := func(n int64) Constant { return Constant{n, n, n, SourceCublas} }
	switch {
	case vendor == "apple" || vendor == "intel":
		return Constant{Source: SourceNone}
	case vendor == "amd" && (architecture == "CDNA 3" || architecture == "CDNA 4"):
		return exact(mi300)
	case vendor == "amd":
		return exact(rocm)
	case major < 2:
		return Constant{Source: SourceCublasOld}
	case architecture == "Hopper":
		return exact(sm90)
	case architecture == "Blackwell" && (major > 2 || minor > 11):
		return Constant{sm90, before90, sm90, SourceCublasPending}
	case architecture == "Blackwell":
		return Constant{before90, before90, sm90, SourceCublasPending}
	default:
		return exact(before90)
	}
}

// CublasLtWorkspace is what a Linear with bias asks cublasLt to work in, freed
// when the call returns (_parseChosenWorkspaceSize in aten/src/ATen/cuda/CUDABlas.cpp,
// default 1024 KiB). Later versions take it from the cuBLAS workspace instead.
const CublasLtWorkspace = 1 << 20

// Measurement is a CUDA context that someone measured.
type Measurement struct {
	PyTorch      string
	Card         string // empty: not stated
	Architecture string
	Bytes        int64
	// Eager says that every kernel was loaded at the start, as before CUDA 11.7.
	Eager  bool
	Source string
}

// ContextMeasurements are the contexts that Context rests on. Those of 1.13
// are the published figures without the 20 MiB segment of the tensor they contain.
func ContextMeasurements() []Measurement {
	return []Measurement{
		{"1.3", "TITAN V", "Volta", 1007 << 20, true, SourceContextEager},
		{"1.8", "GeForce GTX 1080", "Pascal", 721 << 20, true, SourceContextEager},
		{"1.8", "GeForce RTX 3090", "Ampere", 1687 << 20, true, SourceContextEager},
		{"1.13", "", "", 666632192 - LargeBuffer, true, SourceContextLazy},
		{"1.13", "", "", 287047680 - LargeBuffer, false, SourceContextLazy},
		{"2.10", "RTX 6000 Ada Generation", "Ada Lovelace", 426 << 20, false, SourceContextEager},
	}
}

// Context is the memory that the driver, the loaded kernels and the libraries
// take on the card beside PyTorch's reserved memory. Since PyTorch 1.13 and
// CUDA 11.7 kernels are loaded when first used; before, all at once. The range
// runs between measured contexts; the default of the lazy ones, 0.45 GiB, is
// above the measured 254 and 426 MiB because kernels that a network uses add to them.
func Context(major, minor int, vendor, architecture string) Constant {
	eager := major < 1 || major == 1 && minor < 13
	var low, high int64
	for _, m := range ContextMeasurements() {
		// The eager context of 1.13 bounds the lazy ones from above: it holds
		// every kernel. The lazy one says nothing about the eager ones.
		if m.Eager == eager || m.Eager && m.PyTorch == "1.13" {
			if low == 0 || m.Bytes < low {
				low = m.Bytes
			}
			high = max(high, m.Bytes)
		}
	}
	const lazyDefault = 45 << 30 / 100
	switch {
	case vendor == "apple":
		return Constant{Source: SourceNone}
	case vendor == "amd" || vendor == "intel":
		return Constant{lazyDefault, low, high, SourceContextGuess}
	case !eager:
		return Constant{lazyDefault, low, high, SourceContextLazy}
	}
	c := Constant{1007 << 20, low, high, SourceContextEager}
	for _, m := range ContextMeasurements() {
		if m.Eager && m.Architecture == architecture && architecture != "" {
			c.Bytes = m.Bytes
		}
	}
	return c
}
