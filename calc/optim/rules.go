package optim

import (
	"fmt"
	"strings"
)

// A script writes down the tensors of one step, in the order in which PyTorch makes and drops them:
//
//	x       a tensor of the parameter's size under the name x; what x named before goes once it is made,
//	        as when Python rebinds a variable
//	x:b     the same in another size (Param.size)
//	+x      one more under x
//	-x      drop x
//	~x      drop all of x but the last
//	x=y     x names what y named
//	S S:b   a state tensor, in the first step
//	( … )   once per parameter; outside, each step stands for the list of all parameters
//	w?x     x under a condition (Config.holds)
//
// Scalars and step counters that PyTorch keeps on the host are left out. What is still named at the end goes.
type script []op

type op struct {
	do, when, reg, from, size byte
	len                       int // of the operations that each repeats
}

const (
	assign = iota
	add
	drop
	dropButLast
	rename
	state
	each
)

// parse reads a script; a wrong one is a mistake of this package.
func parse(text string) script {
	s := script{}
	open := -1
	for word := range strings.FieldsSeq(text) {
		var o op
		w := word
		if len(w) > 2 && w[1] == '?' {
			o.when, w = w[0], w[2:]
		}
		if n := len(w); n > 2 && w[n-2] == ':' {
			o.size, w = w[n-1], w[:n-2]
		}
		switch {
		case w == "(":
			open, o.do = len(s), each
		case w == ")":
			s[open].len = len(s) - open - 1
			continue
		case w == "S":
			o.do = state
		case len(w) == 3 && w[1] == '=':
			o.do, o.reg, o.from = rename, w[0]-'a', w[2]-'a'
		default:
			if i := strings.IndexByte("+-~", w[0]); i >= 0 {
				o.do, w = byte(i+1), w[1:]
			}
			if len(w) != 1 || w[0] < 'a' || w[0] > 'z' {
				panic(fmt.Sprintf("optim: %q in script %q", word, text))
			}
			o.reg = w[0] - 'a'
		}
		s = append(s, o)
	}
	return s
}

// rule describes one optimizer.
type rule struct {
	// init makes the state of one parameter, for all parameters before the step.
	init script
	// atConstruction: init runs when the optimizer is made.
	atConstruction bool
	// loop, foreach and fused are the step; nil: PyTorch has no such implementation on CUDA.
	loop, foreach, fused script
}

// rules are those of PyTorch 2.x, measured in 2.6 (testdata/steps.csv); sources: torch/optim/<name>.py. The fused kernels
// keep Adam's step counters on the device (adam.py, adamw.py: device=p.device); Adagrad's fused kernel is for the CPU only.
// Not of PyTorch, hence not measured: lion is lucidrains/lion-pytorch, lion_pytorch/lion_pytorch.py; muon is
// KellerJordan/Muon, muon.py, with its own Adam for what is no matrix; adam8bit is bitsandbytes, bitsandbytes/optim/optimizer.py
// (Optimizer2State.init_state), with blocks of 256.
var rules = map[string]rule{
	"sgd":       {loop: parse("( w?g m?S -g )"), foreach: parse("w?g m?S -g"), fused: parse("m?S")},
	"adam":      {init: adamInit, loop: adamLoop, foreach: parse("w?g -g s"), fused: parse("")},
	"adamw":     {init: adamInit, loop: adamwLoop, foreach: parse("s"), fused: parse("")},
	"rmsprop":   {init: rmspropInit, loop: denomLoop, foreach: parse("w?g d")},
	"adagrad":   {init: parse("S"), atConstruction: true, loop: denomLoop, foreach: parse("w?g s W?n")},
	"adadelta":  {init: parse("S S"), loop: adadeltaLoop, foreach: parse("w?g s d")},
	"adamax":    {init: parse("S S"), loop: parse("( w?g a -a -g )"), foreach: parse("g")},
	"nadam":     {init: parse("S S"), loop: adamLoop, foreach: parse("w?g s")},
	"radam":     {init: parse("S S"), loop: parse("( w?g b m R?-m r?s r?r r?a r?-s r?-r r?n r?-m r?-a r?m r?-n r?-m -g )"), foreach: parse("w?g -g s")},
	"rprop":     {init: parse("S S"), loop: rpropLoop, foreach: parse("s ( m:b -m m:b -m m:b -m ) ( m:b e:1 y -m -e -y ) ~s x")},
	"asgd":      {init: parse("S:s t:s S:s -t S:s S"), loop: parse("( w?g -g )"), foreach: parse("g -g d -d ( x:s y:s -x x:s -y y:s +e:s -x -y ) ( +o:s )")},
	"adafactor": {init: parse("f?S:R f?S:C F?S"), loop: parse("( n:1 -n f?r:R f?c:C F?q y f?e:E -e -v v=y n:1 -n )"), foreach: parse("( n:1 -n ) f?r:R -r f?c:C -c F?q -q v f?e:E -e ( n:1 -n )")},
	"lion":      {loop: parse("( S t u -t -u )")},
	"muon":      {loop: parse("( " + only('M', "S x:h y:h -x x=y"+strings.Repeat(newtonSchulz, 5)+" -a -w z=x ") + only('N', "S S s -s c d e f -e y -f -c -d z=y ") + ")")},
	"adam8bit":  {init: parse("S:q S:q S:k S:k"), loop: parse("")},
}

// rules1 are those of PyTorch 1.x where they differ, measured in 1.13: lists were added and divided out of place,
// weight decay was added to the gradients themselves, and Adamax and Rprop went parameter by parameter.
var rules1 = map[string]rule{
	"adam":     {init: adamInit, loop: adamLoop, foreach: parse("s d"), fused: parse("")},
	"adamw":    {init: parse("S S a?S"), loop: adamwLoop, foreach: parse("s d")},
	"rmsprop":  {init: rmspropInit, loop: denomLoop, foreach: parse("d")},
	"adagrad":  {init: parse("S"), atConstruction: true, loop: denomLoop, foreach: parse("s d -s t t")},
	"adadelta": {init: parse("S S"), loop: adadeltaLoop, foreach: parse("s d")},
	"adamax":   {init: parse("S S"), loop: parse("( w?g a n:2 -a -g )"), foreach: parse("( a n:2 -a i:l -i )")},
	"nadam":    {init: parse("S S"), loop: adamLoop, foreach: parse("s d")},
	"radam":    {init: parse("S S"), loop: parse("( w?g b R?m R?-m r?s r?r r?a r?-s r?-r r?m r?n r?-m r?m r?-n r?-m -g )"), foreach: parse("s d d")},
	"rprop":    {init: parse("S S"), loop: rpropLoop, foreach: parse("t s -t ( m:b -m m:b -m m:b -m ) ( +g m:b -m ) x")},
	"asgd":     {init: parse("S"), loop: parse("( w?g -g )"), foreach: parse("w?g")},
}

var (
	adamInit     = parse("k?S:s S S a?S")
	adamLoop     = parse("( w?g t d -t -g )")
	adamwLoop    = parse("( t d -t )")
	rmspropInit  = parse("S m?S c?S")
	denomLoop    = parse("( w?g d -g )")
	adadeltaLoop = parse("( w?g s d -g )")
	rpropLoop    = parse("( t s -t m:b -m m:b -m m:b -m g m:b -m x -x -g )")
)

// newtonSchulz is one of the iterations by which Muon makes an update orthogonal, in bfloat16 (muon.py, zeropower_via_newtonschulz5).
const newtonSchulz = " a:g t:g u:g v:g -u w:g -t -v i:h j:h y:h -i -j x=y"

// only puts a condition before each word of a script.
func only(when rune, text string) string {
	words := strings.Fields(text)
	return string(when) + "?" + strings.Join(words, " "+string(when)+"?") + " "
}
