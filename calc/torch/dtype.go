package torch

// DType is an element type, under PyTorch's names.
type DType uint8

const (
	Float32 DType = iota
	Float64
	Float16
	BFloat16
	Int64
	Int32
	UInt8
	Bool
)

var dtypes = [...]struct {
	name string
	size int64
}{{"float32", 4}, {"float64", 8}, {"float16", 2}, {"bfloat16", 2}, {"int64", 8}, {"int32", 4}, {"uint8", 1}, {"bool", 1}}

// Size is the element's size in bytes.
func (d DType) Size() int64 { return dtypes[d].size }

func (d DType) String() string { return dtypes[d].name }

// Floating says whether gradients can flow through the type.
func (d DType) Floating() bool { return d <= BFloat16 }

// Half says whether the type has two bytes.
func (d DType) Half() bool { return d == Float16 || d == BFloat16 }

// ParseDType reads PyTorch's name of a type ("float32").
func ParseDType(s string) (DType, bool) {
	for i, d := range dtypes {
		if d.name == s {
			return DType(i), true
		}
	}
	return 0, false
}

// promote is the type of a binary operation's result (both floating).
func promote(a, b DType) DType {
	switch {
	case a == b, !b.Floating():
		return a
	case !a.Floating():
		return b
	case a == Float64 || b == Float64:
		return Float64
	default: // two different types of at most four bytes meet in float32
		return Float32
	}
}
