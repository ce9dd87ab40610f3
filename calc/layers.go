package calc

import (
	"maps"
	"reflect"
	"strconv"
	"strings"

	"vrametre/calc/fault"
	"vrametre/calc/models"
	"vrametre/calc/nn"
	"vrametre/calc/torch"
)

// MaxLayers bounds a list of layers.
const MaxLayers = 20_000

// step is one layer of Model.Layers, understood.
type step struct {
	name string
	// spec is a module's; where it is nil the step calls again the module of the step same, or fn.
	spec nn.Spec
	same int
	fn   nn.Function
	// in are the values that it reads: first the model's inputs, then one for each step.
	in []int
}

// layers is Model.Layers: a chain, or a graph through names and inputs. A name used again with the
// same type, and the same arguments or none, calls the same module again.
func (q *query) layers() (n *network, err error) {
	defer fault.Catch(&err)
	list := q.Model.Layers
	if len(list) == 0 {
		return nil, fault.New("layers-empty", "model.layers")
	}
	if len(list) > MaxLayers {
		return nil, fault.New("layers-many", "model.layers", "count", len(list), "limit", MaxLayers)
	}
	inputs := len(q.Input)
	if inputs == 0 {
		return nil, fault.New("input-missing", "input")
	}
	known := map[string]int{"input": 0}
	for i := range inputs {
		known["input"+strconv.Itoa(i)] = i
	}
	modules := map[string]int{}
	steps := make([]step, len(list))
	for i, l := range list {
		s := step{name: l.Name, same: -1, in: []int{max(inputs+i-1, 0)}}
		if i == 0 {
			s.in[0] = 0
		}
		if s.name == "" {
			s.name = strconv.Itoa(i)
		}
		for j, in := range l.Inputs {
			v, ok := known[in]
			if !ok {
				return nil, fault.New("layer-input", s.name, "input", in)
			}
			s.in = append(s.in[:j], v)
		}
		if l.Type == "" {
			return nil, fault.New("layer-type", s.name)
		}
		args, err := q.withoutDType(l, s.name)
		if err != nil {
			return nil, err
		}
		if f, ok := nn.FunctionOf(l.Type); ok {
			if s.fn, err = f.Parse(s.name, args); err != nil {
				return nil, err
			}
		} else {
			if m, ok := modules[s.name]; ok && list[m].Type == l.Type && (len(l.Args) == 0 || reflect.DeepEqual(l.Args, list[m].Args)) {
				s.same = m
			} else {
				if s.spec, err = nn.Parse(l.Type, s.name, args); err != nil {
					return nil, err
				}
				if _, taken := known[s.name]; taken || strings.Contains(s.name, ".") {
					return nil, fault.New("layer-name", s.name, "name", s.name)
				}
				modules[s.name] = i
			}
			nn.CheckInputs(l.Type, s.name, len(s.in))
		}
		known[s.name] = inputs + i
		steps[i] = s
	}
	n = &network{loss: "cross_entropy", inputs: make([]models.Input, inputs)}
	n.build = func(b *nn.Builder) *models.Net {
		root := b.Root("Sequential")
		layers := make([]*nn.Layer, len(steps))
		for i, s := range steps {
			switch {
			case s.spec != nil:
				layers[i] = b.Add(root, s.name, s.spec)
			case s.same >= 0:
				layers[i] = layers[s.same]
			}
		}
		return &models.Net{Root: root, Forward: func(x ...torch.Tensor) []torch.Tensor {
			b.G.Enter(root.Module, x...)
			values := append(make([]torch.Tensor, 0, len(x)+len(steps)), x...)
			var in []torch.Tensor
			for i, s := range steps {
				in = in[:0]
				for _, v := range s.in {
					in = append(in, values[v])
				}
				if layers[i] != nil {
					values = append(values, layers[i].Call(in...))
				} else {
					values = append(values, b.G.Named(s.name, func() torch.Tensor { return s.fn(b.G, in...) }))
				}
			}
			y := values[len(values)-1]
			b.G.Exit(y)
			return []torch.Tensor{y}
		}}
	}
	return n, nil
}

// withoutDType are a layer's arguments without dtype, which must be the network's: one precision stands for all.
func (q *query) withoutDType(l Layer, at string) (map[string]any, error) {
	given, ok := l.Args["dtype"]
	if !ok {
		return l.Args, nil
	}
	name, _ := given.(string)
	if d, known := torch.ParseDType(strings.TrimPrefix(name, "torch.")); given != nil && (!known || d != q.dtype) {
		return nil, fault.New("argument-dtype", at, "type", l.Type, "value", given, "expected", q.dtype.String())
	}
	args := maps.Clone(l.Args)
	delete(args, "dtype")
	return args, nil
}
