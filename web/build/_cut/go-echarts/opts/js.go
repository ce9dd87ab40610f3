package opts

import (
	"strings"

	"github.com/go-echarts/go-echarts/v2/types"
)

// JSFunctions is embedded by every chart.
type JSFunctions struct {
	Fns []types.FuncStr
}

// FuncOpts marks a JavaScript function, on one line.
func FuncOpts(fn string) types.FuncStr {
	return types.FuncStr("__f__" + strings.NewReplacer("\n", "", "\t", "").Replace(fn) + "__f__")
}
